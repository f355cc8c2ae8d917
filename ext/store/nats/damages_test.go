package nats

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/runs"
)

// A head whose content was damaged is no other head, and a record or a checkpoint that was is an error.
// Rule distributed/B23.
func TestStore_TakesNoDamagedValueForAnother(t *testing.T) {
	s := newStore(t, startServer(t, false))
	_, err := s.Submit(t.Context(), "run", runs.Spec{Agent: "agent", Queue: "queue", Tags: map[string]string{"a": "b"}})
	require.NoError(t, err)
	want, _, err := s.Inspect(t.Context(), "run")
	require.NoError(t, err)
	st, err := s.read(t.Context(), "run")
	require.NoError(t, err)
	found, err := s.wire.lastOf(t.Context(), s.headOf(st.hash))
	require.NoError(t, err)
	js, err := jetstream.New(s.wire.conn)
	require.NoError(t, err)
	whole := found[0]
	put := func(data []byte) {
		m := nats.NewMsg(whole.subject)
		for _, name := range []string{valueHeader, idHeader, rollupHeader} {
			if value := whole.header.Get(name); value != "" {
				m.Header.Set(name, value)
			}
		}
		m.Data = data
		_, err := js.PublishMsg(t.Context(), m)
		require.NoError(t, err)
	}
	for i := range whole.data {
		for bit := range 8 {
			damaged := bytes.Clone(whole.data)
			damaged[i] ^= 1 << bit
			put(damaged)
			info, _, err := s.Inspect(t.Context(), "run")
			if err == nil && info.Error == "" {
				t.Fatalf("bit %d of byte %d flipped: the row is read as %+v, and was %+v", bit, i, info, want)
			}
		}
	}
	put(whole.data)
	got, _, err := s.Inspect(t.Context(), "run")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(want.ID, want.Agent, want.Queue, want.Status, want.Tags), fmt.Sprint(got.ID, got.Agent, got.Queue, got.Status, got.Tags))

	// Short values are in the message that says their sum.
	v, err := s.keep(t.Context(), st.hash, ofStep, []byte("a record"), s.piece)
	require.NoError(t, err)
	for i := range v.Inline {
		damaged := v
		damaged.Inline = bytes.Clone(v.Inline)
		damaged.Inline[i] ^= 1
		_, err := s.load(t.Context(), st.hash, damaged)
		require.ErrorIs(t, err, errDamaged)
	}
}
