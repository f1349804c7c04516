//go:build programs

// Package programs pins etcd, in a module of its own because kube-apiserver asks for other versions
// of the same libraries.
package programs

import _ "go.etcd.io/etcd/server/v3"
