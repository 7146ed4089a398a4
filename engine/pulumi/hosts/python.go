package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	codegen "github.com/pulumi/pulumi/pkg/v3/codegen/python"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/pulumi/pulumi/sdk/v3/python/toolchain"
)

const (
	// Where Pulumi's own host keeps the virtual environment of a plugin that names none.
	pluginEnvironment = "venv"
	// What Pulumi's SDK for Python runs policy packs, and plugins that are packages, with.
	policyModule, pluginModule = "pulumi.policy", "pulumi.run.plugin"
)

type python struct {
	pulumirpc.UnimplementedLanguageRuntimeServer
}

// optionsOf reads the options of a project: toolchain and virtualenv. A type checker is the served host's affair.
func optionsOf(program *pulumirpc.ProgramInfo) (toolchain.PythonOptions, error) {
	options := toolchain.PythonOptions{Root: program.GetRootDirectory(), ProgramDir: program.GetProgramDirectory()}
	given := program.GetOptions().AsMap()
	switch name := given["toolchain"]; name {
	case nil:
		options.Toolchain = toolchain.Auto
	case "pip":
		options.Toolchain = toolchain.Pip
	case "poetry":
		options.Toolchain = toolchain.Poetry
	case "uv":
		options.Toolchain = toolchain.Uv
	default:
		return options, fmt.Errorf("toolchain: %v is neither pip, poetry nor uv", name)
	}
	switch folder := given["virtualenv"].(type) {
	case nil:
	case string:
		options.Virtualenv = folder
	default:
		return options, fmt.Errorf("virtualenv: %v is not the name of a folder", folder)
	}
	return options, nil
}

// environmentOf is the virtual environment that the options name, and whether it has been made.
func environmentOf(options toolchain.PythonOptions) (string, bool) {
	folder := options.Virtualenv
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(options.Root, folder)
	}
	return folder, options.Virtualenv != "" && toolchain.IsVirtualEnv(folder)
}

// withPip says whether pip's way is asked for, in which `virtualenv` names an environment; poetry and uv have their own.
func withPip(options toolchain.PythonOptions) bool {
	return options.Toolchain == toolchain.Pip || options.Toolchain == toolchain.Auto
}

// pluginTools is the toolchain of a plugin. One that names no virtual environment has its own, and where that has never been made,
// its Python is the one on PATH: a checkout whose environment is there needs no second one of the same half gigabyte. Pulumi's own
// host refuses to run it.
func pluginTools(program *pulumirpc.ProgramInfo) (toolchain.Toolchain, error) {
	options, err := optionsOf(program)
	if err != nil {
		return nil, err
	}
	if withPip(options) {
		if options.Virtualenv == "" {
			options.Virtualenv = pluginEnvironment
		}
		if _, made := environmentOf(options); !made {
			options.Virtualenv = ""
		}
	}
	return toolchain.ResolveToolchain(options)
}

// activated is the environment in which the served host, which knows no virtual environments, finds the Python of a program's; nil,
// which is this process' own, where the program names none or it has never been made.
func activated(program *pulumirpc.ProgramInfo) ([]string, error) {
	options, err := optionsOf(program)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(options.Root, "PulumiPlugin.yaml")); err == nil && options.Virtualenv == "" {
		options.Virtualenv = pluginEnvironment
	}
	if folder, made := environmentOf(options); made {
		return toolchain.ActivateVirtualEnv(os.Environ(), folder), nil
	}
	return nil, nil
}

func (*python) RunPlugin(
	request *pulumirpc.RunPluginRequest, stream pulumirpc.LanguageRuntime_RunPluginServer,
) error {
	tools, err := pluginTools(request.Info)
	if err != nil {
		return err
	}
	command, err := pluginCommand(stream.Context(), tools, request)
	if err != nil {
		return err
	}
	closer, stdout, stderr, err := rpcutil.MakeRunPluginStreams(stream, false)
	if err != nil {
		return err
	}
	defer func() { _ = closer.Close() }()
	environment := command.Env // with the virtual environment first on PATH
	if environment == nil {
		environment = os.Environ()
	}
	command.Env = append(environment, withoutPath(request.Env)...)
	command.Dir, command.Stdout, command.Stderr = request.Pwd, stdout, stderr
	var exit *exec.ExitError
	if err := command.Run(); errors.As(err, &exit) {
		code := &pulumirpc.RunPluginResponse_Exitcode{Exitcode: int32(exit.ExitCode())}
		return stream.Send(&pulumirpc.RunPluginResponse{Output: code})
	} else if err != nil {
		return fmt.Errorf("running the plugin in %s: %w", request.Info.ProgramDirectory, err)
	}
	return nil
}

// withoutPath leaves out of the engine's variables the one that would hide the plugin's virtual environment.
func withoutPath(variables []string) []string {
	var kept []string
	for _, variable := range variables {
		if !strings.HasPrefix(variable, "PATH=") && !strings.HasPrefix(variable, "VIRTUAL_ENV=") {
			kept = append(kept, variable)
		}
	}
	return kept
}

// pluginCommand runs a policy pack by its module, a folder with a __main__.py as it is, and another one as the package that it is.
func pluginCommand(
	ctx context.Context, tools toolchain.Toolchain, request *pulumirpc.RunPluginRequest,
) (*exec.Cmd, error) {
	folder := request.Info.ProgramDirectory
	if request.Kind == string(apitype.AnalyzerPlugin) {
		return tools.ModuleCommand(ctx, policyModule, append(request.Args[:len(request.Args):len(request.Args)], folder)...)
	}
	if _, err := os.Stat(filepath.Join(folder, "__main__.py")); err == nil {
		return tools.Command(ctx, append([]string{"-u", folder}, request.Args...)...)
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	buildable, err := toolchain.IsBuildablePackage(folder)
	if err != nil {
		return nil, err
	}
	if !buildable {
		return nil, fmt.Errorf("%s is no plugin: it has neither a __main__.py nor a pyproject.toml with a build system", folder)
	}
	project, err := toolchain.LoadPyproject(folder)
	if err != nil {
		return nil, err
	}
	return tools.ModuleCommand(ctx, pluginModule, append([]string{project.Project.Name}, request.Args...)...)
}

func (*python) InstallDependencies(
	request *pulumirpc.InstallDependenciesRequest, stream pulumirpc.LanguageRuntime_InstallDependenciesServer,
) error {
	options, err := optionsOf(request.Info)
	if err != nil {
		return err
	}
	if request.IsPlugin && withPip(options) && options.Virtualenv == "" {
		options.Virtualenv = pluginEnvironment
	}
	closer, stdout, stderr, err := rpcutil.MakeInstallDependenciesStreams(stream, request.IsTerminal)
	if err != nil {
		return err
	}
	defer func() { _ = closer.Close() }()
	ctx, folder := stream.Context(), request.Info.ProgramDirectory
	if uv, err := exec.LookPath("uv"); err == nil && withPip(options) && options.Virtualenv != "" {
		return installWithUv(ctx, uv, options, folder, stdout, stderr)
	}
	tools, err := toolchain.ResolveToolchain(options)
	if err != nil {
		return err
	}
	return tools.InstallDependencies(ctx, folder, request.UseLanguageVersionTools, true, stdout, stderr)
}

// installWithUv does what pip would do with a requirements.txt, in a tenth of the time: half a gigabyte is linked out of uv's cache.
// pip is there too, since the served host asks it what is installed.
func installWithUv(
	ctx context.Context, uv string, options toolchain.PythonOptions, folder string, stdout, stderr io.Writer,
) error {
	environment, made := environmentOf(options)
	python, _, err := toolchain.CommandPath()
	if err != nil {
		return err
	}
	install := []string{"pip", "install", "--python", environment, "pip"}
	if _, err := os.Stat(filepath.Join(folder, "requirements.txt")); err == nil {
		install = append(install, "-r", "requirements.txt")
	}
	commands := [][]string{install}
	if !made {
		commands = [][]string{{"venv", "--python", python, environment}, install}
	}
	for _, arguments := range commands {
		command := exec.CommandContext(ctx, uv, arguments...)
		command.Dir, command.Stdout, command.Stderr = folder, stdout, stderr
		if err := command.Run(); err != nil {
			if !made {
				_ = os.RemoveAll(environment) // else it would count as one that has what the program needs
			}
			return fmt.Errorf("uv %s: %w", strings.Join(arguments, " "), err)
		}
	}
	return nil
}

func (*python) GeneratePackage(
	_ context.Context, request *pulumirpc.GeneratePackageRequest,
) (*pulumirpc.GeneratePackageResponse, error) {
	return generate(request, func(bound *schema.Package, loader schema.ReferenceLoader) (map[string][]byte, error) {
		return codegen.GeneratePackage("pulumi-language-python", bound, request.ExtraFiles, loader)
	})
}

func (*python) Link(ctx context.Context, request *pulumirpc.LinkRequest) (*pulumirpc.LinkResponse, error) {
	options, err := optionsOf(request.Info)
	if err != nil {
		return nil, err
	}
	tools, err := toolchain.ResolveToolchain(options)
	if err != nil {
		return nil, err
	}
	found, err := packagesOf(ctx, request)
	if err != nil {
		return nil, err
	}
	paths := map[string]string{}
	var imports strings.Builder
	for _, each := range found {
		if err := each.definition.ImportLanguages(map[string]schema.Language{"python": codegen.Importer}); err != nil {
			return nil, err
		}
		name := codegen.PyPack(each.definition.Namespace, each.definition.Name)
		if info, is := each.definition.Language["python"].(codegen.PackageInfo); is && info.PackageName != "" {
			name = info.PackageName
		}
		paths[name] = each.path
		fmt.Fprintf(&imports, "  import %s as %s\n", name, codegen.PyName(each.definition.Name))
	}
	if err := tools.LinkPackages(ctx, paths); err != nil {
		return nil, err
	}
	return &pulumirpc.LinkResponse{ImportInstructions: "Your program can now use:\n\n" + imports.String()}, nil
}
