// The streams without Kubernetes, for a machine that has a control plane of its own.

//go:build streams

package main

import "os"

func main() {
	os.Exit(runNodeStreams(os.Args[1:]))
}
