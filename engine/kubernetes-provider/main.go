// Pulumi's own Kubernetes provider, out of the module that has all of it but a main: upstream's embeds generated files.
package main

import (
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

func main() {
	// Imports and `pulumi package` alone look further into the schema.
	provider.Serve("kubernetes", version.Version, []byte(`{"name":"kubernetes"}`), nil)
}
