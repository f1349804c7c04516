//go:build programs

// Package programs pins upstream's credential plugins and the controller that uses them: a blank import
// keeps each of them in go.mod, and the build tag keeps this file out of every build.
package programs

import (
	_ "sigs.k8s.io/cluster-inventory-api/examples/controller-example"
	_ "sigs.k8s.io/cluster-inventory-api/plugins/kubeconfig-secretreader/cmd/plugin"
	_ "sigs.k8s.io/cluster-inventory-api/plugins/secretreader/cmd/plugin"
)
