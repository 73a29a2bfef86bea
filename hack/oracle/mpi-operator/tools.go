//go:build tools

// Package operator pins the operator that ours is measured beside.
package operator

import _ "github.com/kubeflow/mpi-operator/cmd/mpi-operator"
