//go:build tools

// Package operator pins Kubeflow's training-operator, which ours is measured beside.
package operator

import _ "github.com/kubeflow/training-operator/cmd/training-operator.v1"
