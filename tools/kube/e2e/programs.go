//go:build programs

// Package programs pins the tests that Kubernetes calls its conformance, and the runner that runs
// several of them at once. A blank import keeps each in go.mod; the build tag keeps this file out of every build.
package programs

import (
	_ "github.com/onsi/ginkgo/v2/ginkgo"
	_ "k8s.io/kubernetes/test/e2e"
)
