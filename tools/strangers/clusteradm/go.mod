module capstan.dev/tools/strangers/clusteradm

go 1.26.0

require open-cluster-management.io/clusteradm v1.3.1

replace open-cluster-management.io/ocm v1.3.1 => open-cluster-management.io/ocm v1.2.1
