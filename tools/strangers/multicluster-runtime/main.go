// The twin of bench/runtime-subject.mjs on multicluster-runtime: the same controllers over the same clusters, which
// are found in kubeconfig Secrets on the hub. It is told what to do on standard input, a word and perhaps a number on
// each line, and answers each with a line of JSON.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/providers/kubeconfig"
)

var kinds = map[string]client.Object{
	"configmaps":      &corev1.ConfigMap{},
	"namespaces":      &corev1.Namespace{},
	"services":        &corev1.Service{},
	"serviceaccounts": &corev1.ServiceAccount{},
	"endpointslices":  &discoveryv1.EndpointSlice{},
}

// What was seen, and what reconciles are to do.
type state struct {
	lock sync.Mutex
	// By kind, the clusters of which something was reconciled, and when the last of them was first seen.
	filled     map[string]map[string]bool
	lastFilled int64
	// Changes stamped after `since`: by stamp, how many milliseconds each took; and when the last of them was seen.
	since    int64
	latency  map[string]float64
	stamps   map[string]string
	seen     int
	lastSeen int64

	work   atomic.Int64 // milliseconds of pretended work in a reconcile
	remote atomic.Int64 // whether reconciles ask their cluster, and the milliseconds after which those come again that are to
}

func main() {
	hub := flag.String("hub", "", "kubeconfig of the hub")
	namespace := flag.String("namespace", "", "where the kubeconfig Secrets are")
	workers := flag.Int("workers", 8, "reconciles at a time, of each controller")
	flag.Parse()
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	if err := run(ctrl.SetupSignalHandler(), *hub, *namespace, *workers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfigOfHub, namespace string, workers int) error {
	hub, err := clientcmd.BuildConfigFromFlags("", kubeconfigOfHub)
	if err != nil {
		return err
	}
	unlimited := func(c *rest.Config) error {
		c.QPS = -1
		return nil
	}
	_ = unlimited(hub)
	provider := kubeconfig.New(kubeconfig.Options{
		Namespace:   namespace,
		RESTOptions: []func(*rest.Config) error{unlimited},
		ClusterOptions: []cluster.Option{func(o *cluster.Options) {
			o.Cache.DefaultTransform = cache.TransformStripManagedFields()
		}},
	})
	manager, err := mcmanager.New(hub, provider, ctrl.Options{
		Metrics: server.Options{BindAddress: "0"},
		// The provider takes one Secret at a time unless told, and each costs a tenth of a second for every kind.
		Controller: config.Controller{GroupKindConcurrency: map[string]int{"Secret": 32}},
	})
	if err != nil {
		return err
	}
	s := &state{filled: map[string]map[string]bool{}, latency: map[string]float64{}, stamps: map[string]string{}}
	for name, kind := range kinds {
		s.filled[name] = map[string]bool{}
		err := mcbuilder.ControllerManagedBy(manager).
			Named(name).
			For(kind).
			WithOptions(controller.TypedOptions[mcreconcile.Request]{MaxConcurrentReconciles: workers}).
			Complete(mcreconcile.Func(func(ctx context.Context, request mcreconcile.Request) (ctrl.Result, error) {
				return s.reconcile(ctx, manager, name, request)
			}))
		if err != nil {
			return err
		}
	}
	if err := provider.SetupWithManager(ctx, manager); err != nil {
		return err
	}
	go s.obey()
	return manager.Start(ctx)
}

func (s *state) reconcile(ctx context.Context, m mcmanager.Manager, kind string, request mcreconcile.Request) (ctrl.Result, error) {
	name := string(request.ClusterName)
	s.lock.Lock()
	if !s.filled[kind][name] {
		s.filled[kind][name] = true
		s.lastFilled = now()
	}
	s.lock.Unlock()
	if kind != "configmaps" {
		return ctrl.Result{}, nil
	}
	spoke, err := m.GetCluster(ctx, request.ClusterName)
	if err != nil {
		return ctrl.Result{}, err
	}
	var object corev1.ConfigMap
	if err := spoke.GetClient().Get(ctx, request.NamespacedName, &object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	s.note(name+"|"+request.Namespace+"/"+request.Name, object.Data["sent"])
	if ms := s.work.Load(); ms > 0 {
		time.Sleep(time.Duration(ms) * time.Millisecond)
	}
	if ms := s.remote.Load(); ms > 0 && object.Data["sent"] != "" {
		var live corev1.ConfigMap
		if err := spoke.GetAPIReader().Get(ctx, request.NamespacedName, &live); err != nil {
			return ctrl.Result{}, err
		}
		if object.Data["again"] != "" {
			return ctrl.Result{RequeueAfter: time.Duration(ms) * time.Millisecond}, nil
		}
	}
	return ctrl.Result{}, nil
}

func (s *state) note(key, stamp string) {
	sent, err := strconv.ParseInt(stamp, 10, 64)
	s.lock.Lock()
	defer s.lock.Unlock()
	if err != nil || sent < s.since || s.stamps[key] == stamp {
		return
	}
	s.stamps[key] = stamp
	s.seen++
	s.lastSeen = now()
	s.latency[stamp] = float64(s.lastSeen-sent) / 1e6
}

func (s *state) obey() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		word, number, _ := strings.Cut(lines.Text(), " ")
		n, _ := strconv.ParseInt(number, 10, 64)
		answer, _ := json.Marshal(s.answer(word, n))
		fmt.Println(string(answer))
	}
}

func (s *state) answer(word string, n int64) map[string]any {
	s.lock.Lock()
	defer s.lock.Unlock()
	switch word {
	case "work":
		s.work.Store(n)
	case "remote":
		s.remote.Store(n)
	case "reset":
		s.since = now()
		s.latency = map[string]float64{}
		s.seen = 0
	case "latencies":
		return map[string]any{"latencies": s.latency}
	case "filled":
		clusters := map[string]int{}
		for _, of := range s.filled {
			for name := range of {
				clusters[name]++
			}
		}
		return map[string]any{"kinds": clusters}
	}
	filled := 0
	for _, of := range s.filled {
		filled += len(of)
	}
	return map[string]any{"filled": filled, "filledAt": s.lastFilled, "seen": s.seen, "seenAt": s.lastSeen}
}

// The clock that all processes of this machine share.
func now() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano()
}
