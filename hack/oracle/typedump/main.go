// Typedump prints, as JSON, what the embedded API server must know of every built-in type it serves:
// JSON names, omitempty and pointers (which decide what survives a round trip), protobuf field numbers,
// patch keys, list types and schema defaults. All of it is read off the real Go types and their OpenAPI
// definitions, never typed by hand.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// Field is one JSON field of a struct. Zero values are left out to keep the dump small.
type Field struct {
	Name      string `json:"name"`
	Type      any    `json:"type"`
	OmitEmpty bool   `json:"omitEmpty,omitempty"`
	OmitZero  bool   `json:"omitZero,omitempty"`
	Pointer   bool   `json:"pointer,omitempty"`
	Required  bool   `json:"required,omitempty"`
	Number    int    `json:"number,omitempty"`
	// Via is the chain of protobuf numbers of the inlined structs between the message and this field.
	Via []int `json:"via,omitempty"`
	// Inline names the inlined structs of that chain, and Go the type where the JSON type does not tell it (v1.Protocol):
	// decoding errors show both.
	Inline        []string `json:"inline,omitempty"`
	Go            string   `json:"go,omitempty"`
	Default       any      `json:"default,omitempty"`
	Enum          []any    `json:"enum,omitempty"`
	PatchStrategy string   `json:"patchStrategy,omitempty"`
	PatchMergeKey string   `json:"patchMergeKey,omitempty"`
	ListType      string   `json:"listType,omitempty"`
	ListKeys      []string `json:"listKeys,omitempty"`
	MapType       string   `json:"mapType,omitempty"`
}

// Type is one Go struct.
type Type struct {
	MapType string  `json:"mapType,omitempty"`
	Fields  []Field `json:"fields"`
}

// leaves have JSON or protobuf forms of their own.
var leaves = map[string]string{
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":                                             "time",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":                                        "microtime",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":                                         "duration",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":                                         "fields",
	"k8s.io/apimachinery/pkg/api/resource.Quantity":                                         "quantity",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString":                                       "int-or-string",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":                                          "raw",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON":                         "json",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrBool":        "schema-or-bool",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrArray":       "schema-or-array",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrStringArray": "schema-or-strings",
}

var (
	types       = map[string]Type{}
	definitions map[string]common.OpenAPIDefinition
)

func goName(t reflect.Type) string { return t.PkgPath() + "." + t.Name() }

// modelName turns k8s.io/api/core/v1.Pod into io.k8s.api.core.v1.Pod, the name OpenAPI uses.
func modelName(name string) string {
	slash := strings.Index(name, "/")
	host := strings.Split(name[:slash], ".")
	for i, j := 0, len(host)-1; i < j; i, j = i+1, j-1 {
		host[i], host[j] = host[j], host[i]
	}
	return strings.Join(host, ".") + "." + strings.ReplaceAll(name[slash+1:], "/", ".")
}

func definitionOf(t reflect.Type) *spec.Schema {
	for _, name := range []string{goName(t), modelName(goName(t))} {
		if d, ok := definitions[name]; ok {
			return &d.Schema
		}
	}
	return nil
}

func typeOf(t reflect.Type) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if leaf, ok := leaves[goName(t)]; ok {
		return leaf
	}
	switch t.Kind() {
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return map[string]any{"list": typeOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"map": typeOf(t.Elem())}
	case reflect.Struct:
		visit(t)
		return map[string]any{"ref": modelName(goName(t))}
	case reflect.Int, reflect.Int64:
		return "int64"
	default:
		return t.Kind().String()
	}
}

func visit(t reflect.Type) {
	name := modelName(goName(t))
	if _, ok := types[name]; ok {
		return
	}
	types[name] = Type{}
	out := Type{Fields: []Field{}}
	def := definitionOf(t)
	if def != nil {
		out.MapType, _ = def.Extensions["x-kubernetes-map-type"].(string)
	}
	collect(t, def, nil, nil, &out)
	types[name] = out
}

func number(f reflect.StructField) int {
	parts := strings.Split(f.Tag.Get("protobuf"), ",")
	if len(parts) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(parts[1])
	return n
}

// goType is how Go spells a type in its errors, empty where the dump tells it already.
func goType(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	_, leaf := leaves[goName(t)]
	if leaf || t.Kind() == reflect.Struct || t.Kind() == reflect.Slice && t.Name() == "" && t.Elem().Kind() == reflect.Struct || !strings.Contains(t.String(), ".") {
		return ""
	}
	return t.String()
}

func collect(t reflect.Type, def *spec.Schema, via []int, outer []string, out *Type) {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		tag := strings.Split(f.Tag.Get("json"), ",")
		if tag[0] == "-" {
			continue
		}
		inline := tag[0] == "" && f.Anonymous
		if inline {
			if f.Type.Name() == "TypeMeta" {
				out.Fields = append(out.Fields, Field{Name: "kind", Type: "string", OmitEmpty: true}, Field{Name: "apiVersion", Type: "string", OmitEmpty: true})
				continue
			}
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			collect(inner, definitionOrOwn(inner, def), append(append([]int{}, via...), number(f)), append(append([]string{}, outer...), f.Name), out)
			continue
		}
		field := Field{Name: tag[0], Type: typeOf(f.Type), Pointer: f.Type.Kind() == reflect.Pointer, Number: number(f), Via: via,
			Inline: outer, Go: goType(f.Type),
			PatchStrategy: f.Tag.Get("patchStrategy"), PatchMergeKey: f.Tag.Get("patchMergeKey")}
		for _, option := range tag[1:] {
			field.OmitEmpty = field.OmitEmpty || option == "omitempty"
			field.OmitZero = field.OmitZero || option == "omitzero"
		}
		describe(&field, def)
		out.Fields = append(out.Fields, field)
	}
}

// definitionOrOwn finds an inlined struct's own definition; kube-openapi flattens it into the outer one too.
func definitionOrOwn(t reflect.Type, outer *spec.Schema) *spec.Schema {
	if own := definitionOf(t); own != nil {
		return own
	}
	return outer
}

func describe(field *Field, def *spec.Schema) {
	if def == nil {
		return
	}
	for _, required := range def.Required {
		field.Required = field.Required || required == field.Name
	}
	p, ok := def.Properties[field.Name]
	if !ok {
		return
	}
	field.Default, field.Enum = p.Default, p.Enum
	field.ListType, _ = p.Extensions["x-kubernetes-list-type"].(string)
	field.MapType, _ = p.Extensions["x-kubernetes-map-type"].(string)
	if keys, ok := p.Extensions["x-kubernetes-list-map-keys"].([]interface{}); ok {
		for _, key := range keys {
			field.ListKeys = append(field.ListKeys, key.(string))
		}
	}
}

func main() {
	definitions = openapi.GetOpenAPIDefinitions(func(path string) spec.Ref { return spec.MustCreateRef(path) })
	kinds := map[string]string{}
	add := func(gvk schema.GroupVersionKind, t reflect.Type) {
		visit(t)
		kinds[gvk.Group+"/"+gvk.Version+"/"+gvk.Kind] = modelName(goName(t))
	}
	served := map[string]bool{}
	for _, gv := range []string{"/v1", "apps/v1", "batch/v1", "autoscaling/v1", "autoscaling/v2", "policy/v1", "rbac.authorization.k8s.io/v1",
		"storage.k8s.io/v1", "scheduling.k8s.io/v1", "coordination.k8s.io/v1", "discovery.k8s.io/v1", "events.k8s.io/v1",
		"admissionregistration.k8s.io/v1", "authentication.k8s.io/v1", "authorization.k8s.io/v1"} {
		served[gv] = true
	}
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		if served[gvk.Group+"/"+gvk.Version] && gvk.Kind != "WatchEvent" && !strings.HasSuffix(gvk.Kind, "Options") || gvk.Kind == "DeleteOptions" && gvk.Group == "" && gvk.Version == "v1" {
			add(gvk, t)
		}
	}
	extra := runtime.NewScheme()
	_ = apiextensionsv1.AddToScheme(extra)
	_ = metricsv1beta1.AddToScheme(extra)
	for gvk, t := range extra.AllKnownTypes() {
		if gvk.Kind != "WatchEvent" && !strings.HasSuffix(gvk.Kind, "Options") && gvk.Version != "__internal" {
			add(gvk, t)
		}
	}
	for _, v := range []any{authenticationv1.TokenRequest{}, policyv1.Eviction{}, autoscalingv1.Scale{}, metav1.Status{}, metav1.PartialObjectMetadata{}} {
		visit(reflect.TypeOf(v))
	}
	names := make([]string, 0, len(kinds))
	for name := range kinds {
		names = append(names, name)
	}
	sort.Strings(names)
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(map[string]any{"kinds": kinds, "types": types}); err != nil {
		panic(err)
	}
}
