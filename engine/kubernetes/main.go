// Kubernetes as one program: its control plane, kubectl, and what the nodes here stream with. The name that it is called by says
// which part runs, or, where it is called `kubernetes`, its first argument does.

//go:build !streams

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubeapiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kubecontrollermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kubescheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// Each part reads its arguments from os.Args, as if it were the program.
var parts = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          func() { os.Exit(cli.Run(kubeapiserver.NewAPIServerCommand())) },
	"kube-controller-manager": func() { os.Exit(cli.Run(kubecontrollermanager.NewControllerManagerCommand())) },
	"kube-scheduler":          func() { os.Exit(cli.Run(kubescheduler.NewSchedulerCommand())) },
	"node-streams":            func() { os.Exit(runNodeStreams(os.Args[1:])) },
}

const usage = "usage: kubernetes etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubectl|node-streams ARGUMENTS"

func main() {
	name := filepath.Base(os.Args[0])
	if _, known := parts[name]; !known {
		if len(os.Args) < 2 {
			fmt.Fprintln(os.Stderr, usage)
			os.Exit(2)
		}
		os.Args = os.Args[1:]
		name = os.Args[0]
	}
	run, known := parts[name]
	if !known {
		fmt.Fprintf(os.Stderr, "%q is no part of it\n%s\n", name, usage)
		os.Exit(2)
	}
	run()
}
