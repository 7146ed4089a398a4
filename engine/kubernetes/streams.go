// Streams into pods: what `kubectl exec`, `attach` and `port-forward` speak with a node, by Kubernetes' own library.
//
// `kubernetes node-streams SOCKET` serves them on a Unix socket until its standard input ends. Each request arrives from the node's
// agent, which has checked the caller and says in a header what to run or where ports lead; this process knows nothing of pods.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

const (
	streamHeader  = "X-Node-Stream"
	idleTimeout   = 4 * time.Hour // the kubelet's
	createTimeout = 30 * time.Second
	drainTimeout  = 2 * time.Second // for output that a program's own children still hold open
)

// What the agent says of one request.
type stream struct {
	Argv  []string      `json:"argv"`
	Env   []string      `json:"env"`
	Dir   string        `json:"dir"`
	Error string        `json:"error"` // why it can't be run
	Ports map[int32]int `json:"ports"` // of the pod: the port of this machine
}

func runNodeStreams(arguments []string) int {
	if len(arguments) != 1 {
		fmt.Fprintln(os.Stderr, "usage: kubernetes node-streams SOCKET")
		return 2
	}
	listening, err := net.Listen("unix", arguments[0])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP) // they are for the agent, which closes our standard input when it ends
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		running.end()
		os.Exit(0)
	}()
	fmt.Println("ready")
	server := &http.Server{Handler: http.HandlerFunc(serveStream), ConnContext: contextOf}
	fmt.Fprintln(os.Stderr, server.Serve(watchedListener{listening}))
	return 1
}

// A connection whose end cancels what was asked for over it, also after it has become a stream.
type watchedConnection struct {
	net.Conn
	context context.Context
	cancel  context.CancelFunc
}

func (c *watchedConnection) Read(content []byte) (int, error) {
	read, err := c.Conn.Read(content)
	var timeout net.Error
	if err != nil && !(errors.As(err, &timeout) && timeout.Timeout()) {
		c.cancel()
	}
	return read, err
}

type watchedListener struct{ net.Listener }

func (l watchedListener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	of, cancel := context.WithCancel(context.Background())
	return &watchedConnection{Conn: connection, context: of, cancel: cancel}, nil
}

func contextOf(given context.Context, connection net.Conn) context.Context {
	watched, ok := connection.(*watchedConnection)
	if !ok {
		return given
	}
	of, cancel := context.WithCancel(given)
	context.AfterFunc(watched.context, cancel)
	return of
}

// The programs that run now, each the leader of a session, so that none outlives this process.
type programs struct {
	lock    sync.Mutex
	leaders map[int]bool
	ended   bool
}

var running = programs{leaders: map[int]bool{}}

func (p *programs) start(start func() error, command *exec.Cmd) error {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.ended {
		return errors.New("the node's agent ends")
	}
	if err := start(); err != nil {
		return err
	}
	p.leaders[command.Process.Pid] = true
	return nil
}

func (p *programs) forget(command *exec.Cmd) {
	p.lock.Lock()
	defer p.lock.Unlock()
	delete(p.leaders, command.Process.Pid)
}

func (p *programs) end() {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.ended = true
	for leader := range p.leaders {
		_ = syscall.Kill(-leader, syscall.SIGKILL)
	}
}

func serveStream(w http.ResponseWriter, req *http.Request) {
	asked, err := readStream(req.Header.Get(streamHeader))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if strings.HasPrefix(req.URL.Path, "/portForward/") {
		options, err := portforward.NewV4Options(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		portforward.ServePortForward(w, req, asked, "", "", options, idleTimeout, createTimeout, portforward.SupportedProtocols)
		return
	}
	options, err := remotecommand.NewOptions(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	protocols := remotecommand.SupportedStreamingProtocols
	remotecommand.ServeExec(w, req, asked, "", "", "", asked.Argv, options, idleTimeout, createTimeout, protocols)
}

func readStream(header string) (*stream, error) {
	text, err := base64.StdEncoding.DecodeString(header)
	if err != nil {
		return nil, err
	}
	asked := &stream{}
	return asked, json.Unmarshal(text, asked)
}

// ExecInContainer runs the program in a session of its own, on a terminal where one is asked for.
func (s *stream) ExecInContainer(
	ctx context.Context, _, _, _ string, _ []string,
	in io.Reader, out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	if s.Error != "" {
		return errors.New(s.Error)
	}
	command := exec.CommandContext(ctx, s.Argv[0], s.Argv[1:]...)
	command.Env, command.Dir, command.WaitDelay = s.Env, s.Dir, drainTimeout
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	if tty {
		return exitOf(runOnTerminal(command, in, out, resize))
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if out != nil {
		command.Stdout = out
	}
	if errOut != nil {
		command.Stderr = errOut
	}
	if in != nil {
		// Not command.Stdin: its end would be waited for, and a client keeps it open.
		pipe, err := command.StdinPipe()
		if err != nil {
			return err
		}
		go func() {
			_, _ = io.Copy(pipe, in)
			_ = pipe.Close()
		}()
	}
	if err := running.start(command.Start, command); err != nil {
		return err
	}
	defer running.forget(command)
	return exitOf(command.Wait())
}

func runOnTerminal(command *exec.Cmd, in io.Reader, out io.Writer, resize <-chan remotecommand.TerminalSize) error {
	var terminal *os.File
	start := func() (err error) {
		terminal, err = pty.Start(command) // leads a session that has the terminal
		return err
	}
	if err := running.start(start, command); err != nil {
		return err
	}
	defer running.forget(command)
	defer terminal.Close()
	go func() {
		for size := range resize {
			_ = pty.Setsize(terminal, &pty.Winsize{Rows: size.Height, Cols: size.Width})
		}
	}()
	if in != nil {
		go func() { _, _ = io.Copy(terminal, in) }()
	}
	printed := make(chan struct{})
	go func() {
		if out != nil {
			_, _ = io.Copy(out, terminal)
		}
		close(printed)
	}()
	ended := command.Wait()
	select {
	case <-printed:
	case <-time.After(drainTimeout):
	}
	return ended
}

// An exit code as the library knows it; a signal counts as a shell counts it.
func exitOf(err error) error {
	var exited *exec.ExitError
	if !errors.As(err, &exited) {
		if errors.Is(err, exec.ErrWaitDelay) {
			return nil // it has ended well; what it left behind still holds its output
		}
		return err
	}
	code := exited.ExitCode()
	if status, ok := exited.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal())
	}
	return utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: code}
}

// PortForward connects a stream with the port of this machine that stands for the pod's.
func (s *stream) PortForward(ctx context.Context, _, _ string, port int32, data io.ReadWriteCloser) error {
	defer data.Close()
	if s.Error != "" {
		return errors.New(s.Error)
	}
	ours, found := s.Ports[port]
	if !found {
		return fmt.Errorf("no container of the pod declares the port %d", port)
	}
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", ours))
	if err != nil {
		return fmt.Errorf("failed to connect to localhost:%d inside namespace: %w", port, err)
	}
	defer connection.Close()
	sent := make(chan struct{})
	go func() {
		_, _ = io.Copy(connection, data)
		_ = connection.(*net.TCPConn).CloseWrite()
		close(sent)
	}()
	_, err = io.Copy(data, connection)
	return err
}
