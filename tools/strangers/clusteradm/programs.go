//go:build programs

// Package programs pins upstream's command line for administrators: a blank import keeps it in go.mod, and the build
// tag keeps this file out of every build.
package programs

import _ "open-cluster-management.io/clusteradm/cmd/clusteradm"
