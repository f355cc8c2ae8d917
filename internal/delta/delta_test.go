package delta

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// apply makes a value of a source and a patch.
func apply(t testing.TB, patch []byte, source ...[]byte) []byte {
	t.Helper()
	v := Join(Of(source...), Of())
	made, err := v.Apply(patch)
	require.NoError(t, err)
	return made.Bytes()
}

// TestPatch_OfWhatHasGrown: what was added costs what it is long, and the rest nothing.
func TestPatch_OfWhatHasGrown(t *testing.T) {
	var history []byte
	for i := range 1000 {
		history = fmt.Appendf(history, `{"Role":"user","Content":"message %d, which is not like any other"}`, i)
	}
	grown := slices.Concat([]byte("head of another length"), history, []byte("and this is new"), []byte(`,"tail":1`))
	source := NewSource(slices.Concat([]byte("head"), history, []byte(`,"tail":0`)))
	p := source.Patch(grown)
	require.Less(t, len(p), 200)
	require.Equal(t, grown, apply(t, p, source.data))
}

// TestApply_MakesWhatWasPatched holds for values that are made of pieces of each other at random.
func TestApply_MakesWhatWasPatched(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []byte {
		b := make([]byte, r.IntN(n))
		for i := range b {
			b[i] = "ab"[r.IntN(2)] // much of it is there more than once
		}
		return b
	}
	for range 3000 {
		source, more := random(400), random(100)
		value := slices.Clone(random(50))
		for range r.IntN(6) {
			from := r.IntN(len(source) + 1)
			value = slices.Concat(value, source[from:from+r.IntN(len(source)-from+1)], random(20), more)
		}
		p := NewSource(source, more).Patch(value)
		require.True(t, bytes.Equal(value, apply(t, p, source, more)))
	}
}

// TestApply_ManyTimes: a value that a thousand patches have made is the one that it is, and was never copied in between.
func TestApply_ManyTimes(t *testing.T) {
	value := []byte("begin")
	v := Of(value)
	for i := range 1000 {
		next := slices.Concat(value, fmt.Appendf(nil, " and step %d, after %d others and some words more", i, i*7))
		made, err := v.Apply(NewSource(value).Patch(next))
		require.NoError(t, err)
		v, value = made, next
	}
	require.Equal(t, string(value), string(v.Bytes()))
}

// TestApply_RefusesDamage: no patch makes it read what is not there.
func TestApply_RefusesDamage(t *testing.T) {
	source := []byte("some source that has a few bytes, and a few more of them")
	v := Of(source)
	for name, patch := range map[string][]byte{
		"cut literal":    append(binary.AppendUvarint(nil, 10<<1|1), "short"...),
		"no offset":      binary.AppendUvarint(nil, 10<<1),
		"before":         binary.AppendVarint(binary.AppendUvarint(nil, 10<<1), -1),
		"behind":         binary.AppendVarint(binary.AppendUvarint(nil, 10<<1), 50),
		"far":            binary.AppendVarint(binary.AppendUvarint(nil, 1<<60), 0),
		"nothing":        {0},
		"an endless one": bytes.Repeat([]byte{0x80}, 12),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := v.Apply(patch)
			require.ErrorIs(t, err, ErrNoPatch)
		})
	}
}

func FuzzApply(f *testing.F) {
	f.Add([]byte("a source"), []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, source, patch []byte) {
		v := Of(source)
		if made, err := v.Apply(patch); err == nil {
			_ = made.Bytes()
		}
	})
}

func BenchmarkPatch_OfAMegabyte(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte('a' + r.IntN(26))
	}
	grown := slices.Concat([]byte("head"), data, []byte("tail"))
	for b.Loop() {
		NewSource(data).Patch(grown)
	}
}
