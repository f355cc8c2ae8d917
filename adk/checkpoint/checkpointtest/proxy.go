package checkpointtest

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy stands between a store and its server, on loopback, and does to connections what networks do. It is safe for
// concurrent use. At first it only passes on.
type Proxy struct {
	listener        net.Listener
	network, server string
	ends            sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	conns map[net.Conn]bool
	// lossy is set while answers get lost.
	lossy bool
	// lag is the delay of every request.
	lag time.Duration
	// stalled is until when nothing passes.
	stalled time.Time
	// cut is done to the next request that has its part, and delay, too. nil for none.
	cut, delay *deed
}

// deed is a change that is made once, to a request that has part.
type deed struct {
	part []byte
	by   time.Duration
	done chan struct{}
}

// isDue reports whether it is done to a request, now.
func (d *deed) isDue(request []byte) bool {
	if d == nil || !bytes.Contains(request, d.part) {
		return false
	}
	close(d.done)
	return true
}

// StartProxy starts a proxy before the server at an address of a network, as net.Dial has them. It ends with the test.
func StartProxy(t testing.TB, network, address string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, network: network, server: address, conns: map[net.Conn]bool{}}
	p.ends.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.ends.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.Cut()
		p.ends.Wait()
	})
	return p
}

// Address is the place where the proxy is: a host and a port.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Lose sets whether every sixtieth answer gets lost with its connection, so that the client cannot know whether what was
// asked for was done, and every twentieth is late.
func (p *Proxy) Lose(lossy bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lossy = lossy
}

// Lag has every request arrive later from now on, as if the server were farther away.
func (p *Proxy) Lag(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lag = by
}

// Cut ends every connection that there is.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
}

// Stall lets nothing pass for a time, of which neither side is told. Then what was sent meanwhile arrives, but for data of
// connections that are cut before.
func (p *Proxy) Stall(by time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled = time.Now().Add(by)
}

// CutAfter has the connection of the next request that has part cut when the server got it. The channel is closed when
// that request came. A later call takes the place of one that has not.
func (p *Proxy) CutAfter(part []byte) (came <-chan struct{}) {
	d := &deed{part: part, done: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = d
	return d.done
}

// Delay has the next request that has part come to the server later. The channel is closed when the proxy got it. A later
// call takes the place of one that has not happened.
func (p *Proxy) Delay(part []byte, by time.Duration) (came <-chan struct{}) {
	d := &deed{part: part, by: by, done: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
	return d.done
}

// onRequest says what happens to a request.
func (p *Proxy) onRequest(data []byte) (late time.Duration, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	late = max(time.Until(p.stalled), p.lag)
	if p.delay.isDue(data) {
		late, p.delay = p.delay.by, nil
	}
	if p.cut.isDue(data) {
		cut, p.cut = true, nil
	}
	return late, cut
}

// onAnswer says what happens to an answer.
func (p *Proxy) onAnswer() (late time.Duration, lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	late = max(time.Until(p.stalled), 0)
	switch {
	case late > 0, !p.lossy:
	case rand.IntN(60) == 0:
		return 0, true
	case rand.IntN(20) == 0:
		return rand.N(50 * time.Millisecond), false
	}
	return late, false
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial(p.network, p.server)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, client)
		delete(p.conns, server)
	}()
	var requests sync.WaitGroup
	requests.Go(func() {
		p.passRequests(client, server)
		_ = server.Close()
	})
	defer requests.Wait()
	defer client.Close() // first, so that the requests end
	buf := make([]byte, 4096)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		late, lost := p.onAnswer()
		if lost {
			return
		}
		time.Sleep(late)
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// passRequests passes on what a client sends.
func (p *Proxy) passRequests(client, server net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		late, cut := p.onRequest(buf[:n])
		if cut {
			_ = client.Close() // first, so that no answer passes
		}
		time.Sleep(late)
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
		if cut { // the server answers, no client listens, and the connection ends
			_ = server.SetReadDeadline(time.Now().Add(time.Second))
			if half, ok := server.(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite()
			}
			_, _ = io.Copy(io.Discard, server)
			return
		}
	}
}
