package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	codegen "github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

type nodejs struct {
	pulumirpc.UnimplementedLanguageRuntimeServer
}

func (*nodejs) GeneratePackage(
	_ context.Context, request *pulumirpc.GeneratePackageRequest,
) (*pulumirpc.GeneratePackageResponse, error) {
	return generate(request, func(bound *schema.Package, loader schema.ReferenceLoader) (map[string][]byte, error) {
		return codegen.GeneratePackage(
			"pulumi-language-nodejs", bound, request.ExtraFiles, request.LocalDependencies, request.Local, loader,
		)
	})
}

func (*nodejs) Link(ctx context.Context, request *pulumirpc.LinkRequest) (*pulumirpc.LinkResponse, error) {
	found, err := packagesOf(ctx, request)
	if err != nil {
		return nil, err
	}
	arguments := []string{"pkg", "set"}
	var imports strings.Builder
	for _, each := range found {
		if err := each.definition.ImportLanguages(map[string]schema.Language{"nodejs": codegen.Importer}); err != nil {
			return nil, err
		}
		name := nodePackage(each.definition)
		// The dots of a name would be steps into the file.
		arguments = append(arguments, fmt.Sprintf("dependencies[%s]=file:%s", name, filepath.ToSlash(each.path)))
		fmt.Fprintf(&imports, "  import * as %s from %q;\n", strings.ReplaceAll(each.definition.Name, "-", ""), name)
	}
	command := exec.CommandContext(ctx, "npm", arguments...)
	command.Dir = request.Info.ProgramDirectory
	if output, err := command.CombinedOutput(); errors.Is(err, exec.ErrNotFound) {
		return nil, errors.New("npm is not on PATH; it comes with Node.js: https://nodejs.org/")
	} else if err != nil {
		return nil, fmt.Errorf("npm %s: %w\n%s", strings.Join(arguments, " "), err, output)
	}
	return &pulumirpc.LinkResponse{ImportInstructions: "Your program can now use:\n\n" + imports.String()}, nil
}

func nodePackage(definition *schema.Package) string {
	if info, is := definition.Language["nodejs"].(codegen.NodePackageInfo); is && info.PackageName != "" {
		return info.PackageName
	}
	if definition.Namespace != "" {
		return "@" + definition.Namespace + "/" + definition.Name
	}
	return "@pulumi/" + definition.Name
}
