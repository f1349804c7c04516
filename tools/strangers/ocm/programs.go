//go:build programs

// Package programs pins upstream's registration and work programs, each of them both the hub's and the agent's: a
// blank import keeps them in go.mod, and the build tag keeps this file out of every build.
package programs

import (
	_ "open-cluster-management.io/ocm/cmd/registration"
	_ "open-cluster-management.io/ocm/cmd/work"
)
