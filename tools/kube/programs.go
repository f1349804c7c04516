//go:build programs

// Package programs pins the Kubernetes programs that the tests run against: a blank import keeps
// each of them in go.mod, and the build tag keeps this file out of every build.
package programs

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
)
