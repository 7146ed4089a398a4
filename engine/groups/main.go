// A Helm chart as `helm template` renders it, without Helm's clients of registries and clusters.
//
// `charts FOLDER NAME NAMESPACE KUBERNETES` reads values as YAML from its standard input and prints the chart's CustomResourceDefinitions
// and what its templates make, as JSON, one object a line, in the order in which Helm installs them.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/yaml"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: charts FOLDER NAME NAMESPACE KUBERNETES")
		os.Exit(2)
	}
	if err := render(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func render(folder, name, namespace, kubernetes string) error {
	chart, err := loader.Load(folder)
	if err != nil {
		return err
	}
	given, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	values, err := chartutil.ReadValues(given)
	if err != nil {
		return err
	}
	version, err := chartutil.ParseKubeVersion(kubernetes)
	if err != nil {
		return err
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	release := chartutil.ReleaseOptions{Name: name, Namespace: namespace, Revision: 1, IsInstall: true}
	whole, err := chartutil.ToRenderValues(chart, values, release, capabilities)
	if err != nil {
		return err
	}
	files, err := engine.Render(chart, whole)
	if err != nil {
		return err
	}
	for file := range files {
		if strings.HasSuffix(file, "NOTES.txt") {
			delete(files, file)
		}
	}
	_, manifests, err := releaseutil.SortManifests(files, capabilities.APIVersions, releaseutil.InstallOrder)
	if err != nil {
		return err
	}
	texts := make([]string, 0, len(manifests))
	for _, each := range chart.CRDObjects() {
		texts = append(texts, string(each.File.Data))
	}
	for _, each := range manifests {
		texts = append(texts, each.Content)
	}
	for _, each := range texts {
		object, err := yaml.YAMLToJSON([]byte(each))
		if err != nil {
			return err
		}
		if string(object) != "null" {
			fmt.Println(string(object))
		}
	}
	return nil
}
