// A language host in front of an older one. The hosts that Go's module proxy serves end with version 3.79 of Pulumi's SDK (Python)
// and 3.68 (Node.js), and the engine asks for more: to run a folder as a plugin, to generate a package and link it into a project,
// to install into a virtual environment. This program answers that, and forwards everything else to the served host, which lies
// beside it as <its own name>-served and is started by it.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// A schema of a large provider has tens of megabytes; Pulumi's own programs take up to 400.
const largestMessage = 400 << 20

// How often a host looks whether the engine that started it is still there, which may have been killed.
const engineInterval = 10 * time.Second

// language is what differs from one language to another.
type language struct {
	server pulumirpc.LanguageRuntimeServer
	// The calls that `server` answers; all others are forwarded.
	answers []string
	// The environment of the served host for a program; nil is this process' own.
	environment func(*pulumirpc.ProgramInfo) ([]string, error)
}

var languages = map[string]language{
	"pulumi-language-python": {
		server:      &python{},
		answers:     []string{"RunPlugin", "InstallDependencies", "GeneratePackage", "Link"},
		environment: activated,
	},
	"pulumi-language-nodejs": {
		server:      &nodejs{},
		answers:     []string{"GeneratePackage", "Link"},
		environment: func(*pulumirpc.ProgramInfo) ([]string, error) { return nil, nil },
	},
}

func main() {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	chosen, known := languages[name]
	if !known {
		fail(fmt.Errorf("%s isn't the name of a language host", name))
	}
	program, err := os.Executable()
	if err != nil {
		fail(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := &hosts{ctx: ctx, program: filepath.Join(filepath.Dir(program), name+"-served"), running: map[string]*grpc.ClientConn{}}
	defer served.end(stop)
	server := grpc.NewServer(
		grpc.ForceServerCodec(codec{}),
		grpc.MaxRecvMsgSize(largestMessage),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			return served.forward(stream, chosen.environment)
		}),
	)
	server.RegisterService(only(chosen.answers), chosen.server)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail(err)
	}
	if engine := engineAddress(os.Args[1:]); engine != "" {
		if err := rpcutil.Healthcheck(ctx, engine, engineInterval, server.Stop); err != nil {
			fail(err)
		}
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	if err := server.Serve(listener); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// engineAddress is the one argument that isn't an option.
func engineAddress(arguments []string) string {
	for _, argument := range arguments {
		if !strings.HasPrefix(argument, "-") {
			return argument
		}
	}
	return ""
}

// only describes the service of a language host with the calls of these names and no others.
func only(names []string) *grpc.ServiceDesc {
	described := pulumirpc.LanguageRuntime_ServiceDesc
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	all := described
	described.Methods, described.Streams = nil, nil
	for _, method := range all.Methods {
		if wanted[method.MethodName] {
			described.Methods = append(described.Methods, method)
		}
	}
	for _, stream := range all.Streams {
		if wanted[stream.StreamName] {
			described.Streams = append(described.Streams, stream)
		}
	}
	return &described
}

// codec leaves a message that is forwarded as the bytes that it came in.
type codec struct{}

func (codec) Marshal(message any) ([]byte, error) {
	if raw, is := message.(*[]byte); is {
		return *raw, nil
	}
	return proto.Marshal(message.(proto.Message))
}

func (codec) Unmarshal(data []byte, message any) error {
	if raw, is := message.(*[]byte); is {
		*raw = append([]byte{}, data...) // the bytes are the transport's, which uses them again
		return nil
	}
	return proto.Unmarshal(data, message.(proto.Message))
}

func (codec) Name() string { return "proto" }

// hosts are the served hosts that have been started: one for each environment that programs have asked for.
type hosts struct {
	ctx     context.Context
	program string

	mutex     sync.Mutex
	running   map[string]*grpc.ClientConn
	processes sync.WaitGroup
}

func (h *hosts) end(stop context.CancelFunc) {
	stop()
	h.processes.Wait()
}

func (h *hosts) forward(stream grpc.ServerStream, environment func(*pulumirpc.ProgramInfo) ([]string, error)) error {
	method, _ := grpc.MethodFromServerStream(stream)
	var message []byte
	if err := stream.RecvMsg(&message); err != nil {
		return err
	}
	variables, err := environment(programOf(method, message))
	if err != nil {
		return err
	}
	connection, err := h.connection(variables)
	if err != nil {
		return err
	}
	headers, _ := metadata.FromIncomingContext(stream.Context())
	ctx := metadata.NewOutgoingContext(stream.Context(), headers)
	call, err := connection.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err != nil {
		return err
	}
	if err := call.SendMsg(&message); err != nil {
		return err
	}
	if err := call.CloseSend(); err != nil {
		return err
	}
	for {
		var answer []byte
		if err := call.RecvMsg(&answer); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := stream.SendMsg(&answer); err != nil {
			return err
		}
	}
}

// programOf is the program that a call is about, or nil.
func programOf(method string, message []byte) *pulumirpc.ProgramInfo {
	var request interface {
		proto.Message
		GetInfo() *pulumirpc.ProgramInfo
	}
	switch filepath.Base(method) {
	case "Run":
		request = &pulumirpc.RunRequest{}
	case "GetRequiredPlugins":
		request = &pulumirpc.GetRequiredPluginsRequest{}
	case "GetProgramDependencies":
		request = &pulumirpc.GetProgramDependenciesRequest{}
	case "About":
		request = &pulumirpc.AboutRequest{}
	default:
		return nil
	}
	if proto.Unmarshal(message, request) != nil {
		return nil // the served host says what is wrong with it
	}
	return request.GetInfo()
}

// connection is one to the served host with these environment variables, which is started where it doesn't run yet.
func (h *hosts) connection(variables []string) (*grpc.ClientConn, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	key := strings.Join(variables, "\x00")
	if connection := h.running[key]; connection != nil {
		return connection, nil
	}
	command := exec.CommandContext(h.ctx, h.program, os.Args[1:]...)
	command.Env, command.Stderr = variables, os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(output)
	port, err := reader.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s ended before it named its port: %w", h.program, err)
	}
	h.processes.Add(1)
	go func() {
		defer h.processes.Done()
		_, _ = io.Copy(os.Stdout, reader) // what a program prints goes where this process' own output goes
		_ = command.Wait()
	}()
	connection, err := grpc.NewClient(
		"127.0.0.1:"+strings.TrimSpace(port),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(codec{}), grpc.MaxCallRecvMsgSize(largestMessage)),
	)
	if err != nil {
		return nil, err
	}
	h.running[key] = connection
	return connection, nil
}
