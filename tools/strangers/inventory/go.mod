module capstan.dev/tools/strangers/inventory

go 1.26.0

require sigs.k8s.io/cluster-inventory-api v0.1.3
