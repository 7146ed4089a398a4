package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/blang/semver"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// generate writes the package of a schema into the folder of the request. `files` makes it in a language: path to content.
func generate(
	request *pulumirpc.GeneratePackageRequest,
	files func(*schema.Package, schema.ReferenceLoader) (map[string][]byte, error),
) (*pulumirpc.GeneratePackageResponse, error) {
	client, err := schema.NewLoaderClient(request.LoaderTarget)
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }()
	loader := schema.NewCachedLoader(client)
	var spec schema.PackageSpec
	if err := json.Unmarshal([]byte(request.Schema), &spec); err != nil {
		return nil, err
	}
	bound, problems, err := schema.BindSpec(spec, loader, schema.ValidationOptions{AllowDanglingReferences: true})
	if err != nil {
		return nil, err
	}
	response := &pulumirpc.GeneratePackageResponse{Diagnostics: plugin.HclDiagnosticsToRPCDiagnostics(problems)}
	if problems.HasErrors() {
		return response, nil
	}
	made, err := files(bound, loader)
	if err != nil {
		return nil, err
	}
	for name, content := range made {
		path := filepath.Join(request.Directory, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return nil, err
		}
	}
	return response, nil
}

// linked is a generated package that is to be used by a project.
type linked struct {
	path       string // relative to the project's folder
	definition *schema.Package
}

// packagesOf asks the engine for the schemas of the packages that a project is to use.
func packagesOf(ctx context.Context, request *pulumirpc.LinkRequest) ([]linked, error) {
	client, err := schema.NewLoaderClient(request.LoaderTarget)
	if err != nil {
		return nil, err
	}
	defer func() { _ = client.Close() }()
	loader := schema.NewCachedLoader(client)
	var found []linked
	for _, dependency := range request.Packages {
		descriptor, err := descriptorOf(dependency.Package)
		if err != nil {
			return nil, err
		}
		reference, err := loader.LoadPackageReferenceV2(ctx, descriptor)
		if err != nil {
			return nil, err
		}
		definition, err := reference.Definition()
		if err != nil {
			return nil, err
		}
		found = append(found, linked{dependency.Path, definition})
	}
	return found, nil
}

func descriptorOf(dependency *pulumirpc.PackageDependency) (*schema.PackageDescriptor, error) {
	descriptor := &schema.PackageDescriptor{Name: dependency.Name, DownloadURL: dependency.Server}
	if dependency.Version != "" {
		version, err := semver.Parse(dependency.Version)
		if err != nil {
			return nil, fmt.Errorf("the version of %s: %w", dependency.Name, err)
		}
		descriptor.Version = &version
	}
	if parameters := dependency.Parameterization; parameters != nil {
		version, err := semver.Parse(parameters.Version)
		if err != nil {
			return nil, fmt.Errorf("the version of %s: %w", parameters.Name, err)
		}
		descriptor.Parameterization = &schema.ParameterizationDescriptor{
			Name: parameters.Name, Version: version, Value: parameters.Value,
		}
	}
	return descriptor, nil
}
