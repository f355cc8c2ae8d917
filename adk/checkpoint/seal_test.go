package checkpoint_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/runs"
)

var testKey = bytes.Repeat([]byte{7}, 32)

func TestSeal_Conforms(t *testing.T) {
	conformsInMemory(t, func(s *clockedStore) checkpoint.Store {
		return checkpoint.Seal(s, checkpoint.OneKey("1", testKey))
	})
}

// rotating has two keys, of which the second one is written with.
type rotating struct{ old, current checkpoint.Keys }

func (r rotating) Current() (string, []byte, error) { return r.current.Current() }

func (r rotating) Key(name string) ([]byte, error) {
	if key, err := r.old.Key(name); err == nil {
		return key, nil
	}
	return r.current.Key(name)
}

// TestSeal_ShowsNothingOfARun to a reader of the store below.
// Rules distributed/X1, distributed/X4.
func TestSeal_ShowsNothingOfARun(t *testing.T) {
	plain := checkpoint.NewMemoryStore()
	s := checkpoint.Seal(plain, checkpoint.OneKey("1", testKey))
	const secret = "the secret"
	_, err := s.Submit(t.Context(), "run", runs.Spec{Records: [][]byte{[]byte(secret)}})
	require.NoError(t, err)
	l, err := s.Acquire(t.Context(), "run", runs.LeaseRequest{})
	require.NoError(t, err)
	require.NoError(t, l.AppendRecord(t.Context(), "run", []byte(secret)))
	require.NoError(t, l.Settle(t.Context(), runs.Settlement{Status: runs.Waiting, Checkpoint: []byte(secret),
		Waiting: []runs.Question{{ID: "q", Text: secret, Arguments: secret, URL: secret, Schema: []byte(`"` + secret + `"`), Info: []byte(`"` + secret + `"`), For: []string{"ana"}}}}))
	require.NoError(t, s.Reply(t.Context(), "run", runs.Reply{To: "q", Data: []byte(secret)}))
	records, err := plain.ReadRecords(t.Context(), "run")
	require.NoError(t, err)
	data, _, err := plain.Get(t.Context(), "run")
	require.NoError(t, err)
	info, _, err := plain.Inspect(t.Context(), "run")
	require.NoError(t, err)
	raw, err := plain.Acquire(t.Context(), "run", runs.LeaseRequest{})
	require.NoError(t, err)
	answers, err := raw.Replies(t.Context())
	require.NoError(t, err)
	for _, shown := range append(records, data, info.Waiting[0].Info, answers[0].Data) {
		require.NotContains(t, string(shown), secret)
		require.NotEmpty(t, shown)
	}
	require.NotContains(t, fmt.Sprint(info.Waiting), secret)
	opened, _, err := s.Inspect(t.Context(), "run")
	require.NoError(t, err)
	q := opened.Waiting[0]
	require.Equal(t, []string{secret, secret, secret, `"` + secret + `"`, `"` + secret + `"`},
		[]string{q.Text, q.Arguments, q.URL, string(q.Schema), string(q.Info)})
	require.Equal(t, []string{"ana"}, info.Waiting[0].For)
}

// TestSeal_RefusesWhatWasChanged, moved, cut off or sealed with another key, each with an error of its own. (X2, X3,
// X5)
func TestSeal_RefusesWhatWasChanged(t *testing.T) {
	plain := checkpoint.NewMemoryStore()
	old := checkpoint.OneKey("1", testKey)
	s := checkpoint.Seal(plain, old)
	require.NoError(t, s.Set(t.Context(), "a", []byte("value")))
	data, _, err := plain.Get(t.Context(), "a")
	require.NoError(t, err)
	for i := range data {
		changed := bytes.Clone(data)
		changed[i] ^= 1
		require.NoError(t, plain.Set(t.Context(), "a", changed))
		_, _, err := s.Get(t.Context(), "a")
		require.Error(t, err, "byte %d", i)
		require.NoError(t, plain.Set(t.Context(), "a", data[:i]))
		_, _, err = s.Get(t.Context(), "a")
		require.Error(t, err, "cut at %d", i)
	}
	require.NoError(t, plain.Set(t.Context(), "b", data))
	_, _, err = s.Get(t.Context(), "b")
	require.ErrorIs(t, err, checkpoint.ErrSealBroken, "it was moved to another run")
	require.NoError(t, plain.AppendRecord(t.Context(), "a", data))
	_, err = s.ReadRecords(t.Context(), "a")
	require.ErrorIs(t, err, checkpoint.ErrSealBroken, "it is another kind of value")
	require.NoError(t, plain.Set(t.Context(), "a", []byte("plain")))
	_, _, err = s.Get(t.Context(), "a")
	require.ErrorIs(t, err, checkpoint.ErrNotSealed)

	require.NoError(t, plain.Set(t.Context(), "a", data))
	other := bytes.Repeat([]byte{8}, 32)
	_, _, err = checkpoint.Seal(plain, checkpoint.OneKey("1", other)).Get(t.Context(), "a")
	require.ErrorIs(t, err, checkpoint.ErrSealBroken)
	_, _, err = checkpoint.Seal(plain, checkpoint.OneKey("2", other)).Get(t.Context(), "a")
	require.ErrorContains(t, err, `key "1"`)
	require.NotErrorIs(t, err, runs.ErrNotFound)
	rotated := checkpoint.Seal(plain, rotating{old, checkpoint.OneKey("2", other)})
	got, _, err := rotated.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "value", string(got))
	require.NoError(t, rotated.Set(t.Context(), "a", got))
	_, _, err = s.Get(t.Context(), "a")
	require.ErrorContains(t, err, `key "2"`)
	require.ErrorContains(t, checkpoint.Seal(plain, checkpoint.OneKey("1", []byte("short"))).Set(t.Context(), "a", nil), "32 are needed")
	require.ErrorContains(t, checkpoint.Seal(plain, checkpoint.OneKey(strings.Repeat("x", 256), testKey)).Set(t.Context(), "a", nil),
		"255 are the most")
}

// FuzzSeal: whatever a store returns is opened or refused.
// Rule distributed/X5.
func FuzzSeal(f *testing.F) {
	plain := checkpoint.NewMemoryStore()
	s := checkpoint.Seal(plain, checkpoint.OneKey("1", testKey))
	require.NoError(f, s.Set(f.Context(), "a", []byte("value")))
	data, _, _ := plain.Get(f.Context(), "a")
	f.Add(data)
	f.Add([]byte("weftseal\x01\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		require.NoError(t, plain.Set(t.Context(), "a", data))
		got, _, err := s.Get(t.Context(), "a")
		if err == nil {
			require.Equal(t, "value", string(got))
		}
	})
}

// IDs, parents and keys may identify customers: with HashIDs the store has none of them.
// Rule distributed/X4.
func TestSealWith_HashesIDs(t *testing.T) {
	plain := checkpoint.NewMemoryStore()
	s := checkpoint.SealWith(plain, checkpoint.OneKey("1", testKey), checkpoint.SealOptions{HashIDs: testKey})
	const secret = "customer 17"
	_, err := s.Submit(t.Context(), secret, runs.Spec{Key: secret, Records: [][]byte{[]byte("begin")}})
	require.NoError(t, err)
	l, err := s.Acquire(t.Context(), secret, runs.LeaseRequest{})
	require.NoError(t, err)
	hash := l.Info().ID
	require.Regexp(t, `^~[A-Za-z0-9_-]{43}$`, hash)
	for _, id := range []string{secret, hash} { // both name it
		require.NoError(t, l.AppendRecord(t.Context(), id, []byte("step")))
	}
	records, err := l.ReadRecords(t.Context(), hash)
	require.NoError(t, err)
	require.Len(t, records, 3)
	require.NoError(t, l.Settle(t.Context(), runs.Settlement{Status: runs.Waiting, Checkpoint: []byte("here"),
		DropRecords: true, Waiting: []runs.Question{{ID: "q"}},
		Children: []runs.Child{{ID: secret + "/child", Run: runs.Spec{Parent: secret, ParentPoint: "q"}}}}))
	n := 0
	for info, err := range plain.List(t.Context(), runs.Query{}) {
		require.NoError(t, err)
		require.NotContains(t, info.ID+info.Parent+info.Key, "customer")
		n++
	}
	require.Equal(t, 2, n)
	counts, err := s.Count(t.Context(), runs.Query{Parent: secret})
	require.NoError(t, err)
	require.Equal(t, map[runs.Status]int64{runs.Ready: 1}, counts)
	for info, err := range s.List(t.Context(), runs.Query{Key: secret}) {
		require.NoError(t, err)
		require.Equal(t, hash, info.ID)
	}
	data, exists, err := s.Get(t.Context(), secret)
	require.NoError(t, err)
	require.True(t, exists)
	require.Equal(t, "here", string(data))
	require.NoError(t, s.Reply(t.Context(), hash, runs.Reply{To: "q", Data: []byte("yes")}))
	info, exists, err := s.Inspect(t.Context(), secret)
	require.NoError(t, err)
	require.True(t, exists)
	require.Equal(t, runs.Ready, info.Status)
	require.NoError(t, s.Remove(t.Context(), secret, false))
	require.Panics(t, func() {
		checkpoint.SealWith(plain, checkpoint.OneKey("1", testKey), checkpoint.SealOptions{HashIDs: []byte("short")})
	})
}

// What an old key sealed is sealed again, and the old key is needed no more.
// Rule distributed/X3.
func TestReseal_MakesOldKeysUnnecessary(t *testing.T) {
	checkpointtest.Reseal(t, checkpoint.NewMemoryStore())
	_, err := checkpoint.Reseal(t.Context(), checkpoint.NewMemoryStore())
	require.ErrorContains(t, err, "no sealed store")
	files, err := checkpoint.NewFileStore(t.TempDir())
	require.NoError(t, err)
	_, err = checkpoint.Reseal(t.Context(), checkpoint.Seal(files, checkpoint.OneKey("1", testKey)))
	require.ErrorContains(t, err, "cannot rewrite values")
	plain := checkpoint.NewMemoryStore()
	require.NoError(t, plain.Set(t.Context(), "a", []byte("not sealed")))
	_, err = checkpoint.Reseal(t.Context(), checkpoint.Seal(plain, checkpoint.OneKey("1", testKey)))
	require.ErrorIs(t, err, checkpoint.ErrNotSealed)
}
