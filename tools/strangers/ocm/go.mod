module capstan.dev/tools/strangers/ocm

go 1.26.0

require open-cluster-management.io/ocm v1.2.1
