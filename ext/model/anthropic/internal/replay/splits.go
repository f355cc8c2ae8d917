package replay

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/anthropic"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

// RunSplits reads every recorded stream in pieces of random length and with other line ends, which makes no difference,
// and cut after every event, which is an error.
func (p Place) RunSplits(t *testing.T) {
	streams := 0
	p.Each(t, func(t *testing.T, load func() *kittest.Cassette) {
		for _, i := range load().Interactions {
			body := i.Response.Body
			if strings.HasPrefix(i.Response.Headers.Get("Content-Type"), "application/json") {
				continue
			}
			streams++
			one := &kittest.Cassette{Interactions: []*kittest.Interaction{i}}
			read := func(body io.Reader) (*schema.AgenticMessage, error) { return p.read(t, one, body) }
			want, err := read(bytes.NewReader(body))
			require.NoError(t, err)
			variants := [][]byte{body}
			if bytes.HasPrefix(body, []byte("event:")) {
				variants = append(variants, bytes.ReplaceAll(body, []byte("\n"), []byte("\r\n")))
				requireCuts(t, body, read)
			}
			for _, variant := range variants {
				for seed := range uint64(5) {
					got, err := read(&pieces{variant, rand.New(rand.NewPCG(seed, 1))})
					require.NoError(t, err)
					require.Equal(t, want, got)
				}
			}
		}
	})
	require.NotZero(t, streams)
}

func requireCuts(t *testing.T, body []byte, read func(io.Reader) (*schema.AgenticMessage, error)) {
	t.Helper()
	events := bytes.SplitAfter(bytes.TrimRight(body, "\n"), []byte("\n\n"))
	for n := range events {
		_, err := read(bytes.NewReader(bytes.Join(events[:n], nil)))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, "after %d events", n)
	}
	_, err := read(bytes.NewReader(append(bytes.Join(events, nil), "\n\ndata: {\"type\":"...)))
	require.NoError(t, err, "behind the last event")
}

// pieces are bytes in pieces of random length.
type pieces struct {
	data []byte
	rand *rand.Rand
}

// Read implements io.Reader.
func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), 1+p.rand.IntN(60))], p.data)
	p.data = p.data[n:]
	return n, nil
}

type body struct{ io.Reader }

// RoundTrip implements http.RoundTripper.
func (b body) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(b.Reader), Request: req, ContentLength: -1,
	}, nil
}

func (p Place) read(t *testing.T, c *kittest.Cassette, from io.Reader) (*schema.AgenticMessage, error) {
	t.Helper()
	conf := p.Config(t, c)
	conf.HTTPClient = &http.Client{Transport: body{from}}
	m, err := anthropic.NewAgenticModel(context.Background(), conf)
	require.NoError(t, err)
	sr, err := m.Stream(context.Background(), []*schema.AgenticMessage{schema.UserAgenticMessage("hi")})
	require.NoError(t, err)
	defer sr.Close()
	var acc schema.AgenticMessageAccumulator
	for chunk, err := range sr.All() {
		if err != nil {
			return nil, err
		}
		require.NoError(t, acc.Add(chunk))
	}
	return acc.Message()
}
