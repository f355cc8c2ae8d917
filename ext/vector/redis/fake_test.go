package redis

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A fake is a server that answers commands as it is said, and keeps them. It speaks RESP2, or RESP3.
type fake struct {
	listener net.Listener
	resp3    bool
	answers  map[string]string // by the first word of the command, in the form of the protocol
	done     sync.WaitGroup

	// mu guards commands.
	mu       sync.Mutex
	commands [][]string
}

func newFake(t *testing.T, resp3 bool, answers map[string]string) (*fake, *redis.Client) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &fake{listener: listener, resp3: resp3, answers: answers}
	f.done.Go(f.accept)
	client := redis.NewClient(&redis.Options{Addr: listener.Addr().String(), MaxRetries: -1})
	t.Cleanup(func() {
		client.Close()
		listener.Close()
		f.done.Wait()
	})
	return f, client
}

func (f *fake) accept() {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return
		}
		f.done.Go(func() {
			defer conn.Close()
			f.serve(conn)
		})
	}
}

func (f *fake) serve(conn io.ReadWriter) {
	in := bufio.NewReader(conn)
	queued := -1 // commands between MULTI and EXEC
	for {
		command, err := readCommand(in)
		if err != nil {
			return
		}
		name := strings.ToUpper(command[0])
		answer := f.answer(name, command)
		switch {
		case name == "MULTI":
			queued, answer = 0, "+OK\r\n"
		case name == "EXEC":
			answer = fmt.Sprintf("*%d\r\n%s", queued, strings.Repeat(":1\r\n", queued))
			queued = -1
		case queued >= 0:
			queued++
			answer = "+QUEUED\r\n"
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}

func (f *fake) answer(name string, command []string) string {
	switch name {
	case "HELLO":
		if f.resp3 {
			return "%1\r\n+proto\r\n:3\r\n"
		}
		return "-ERR unknown command 'HELLO'\r\n"
	case "CLIENT":
		return "-ERR unknown command 'CLIENT'\r\n"
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.commands = append(f.commands, command)
	if answer, ok := f.answers[name]; ok {
		return answer
	}
	return "-ERR unexpected command " + name + "\r\n"
}

// take returns the commands since the last time.
func (f *fake) take() [][]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	commands := f.commands
	f.commands = nil
	return commands
}

func readCommand(in *bufio.Reader) ([]string, error) {
	count, err := readNumber(in, '*')
	if err != nil {
		return nil, err
	}
	words := make([]string, count)
	for i := range words {
		size, err := readNumber(in, '$')
		if err != nil {
			return nil, err
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(in, word); err != nil {
			return nil, err
		}
		words[i] = string(word[:size])
	}
	return words, nil
}

func readNumber(in *bufio.Reader, kind byte) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("%q does not begin with %c", line, kind)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

// bulk returns a text in the form of the protocol.
func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

func bulks(texts ...string) string {
	all := ""
	for _, text := range texts {
		all += bulk(text)
	}
	return all
}
