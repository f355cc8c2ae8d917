package checkpointtest_test

import (
	"bytes"
	"context"
	"iter"
	"os"
	"os/exec"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/checkpoint/checkpointtest"
	"github.com/weftgo/weft/runs"
)

// broken is a store with one fault.
type broken struct {
	*checkpoint.MemoryStore
	fault string
	given map[string][]byte
}

func (b *broken) Get(ctx context.Context, id string) ([]byte, bool, error) {
	switch b.fault {
	case "case":
		id = strings.ToLower(id)
	case "found":
		got, _, err := b.MemoryStore.Get(ctx, id)
		return got, true, err
	case "keeps":
		if got, ok := b.given[id]; ok {
			return got, true, nil
		}
	}
	return b.MemoryStore.Get(ctx, id)
}

func (b *broken) Set(ctx context.Context, id string, v []byte) error {
	switch b.fault {
	case "case":
		id = strings.ToLower(id)
	case "first":
		if _, ok, _ := b.MemoryStore.Get(ctx, id); ok {
			return nil
		}
	case "appends":
		old, _, _ := b.MemoryStore.Get(ctx, id)
		v = append(old, v...)
	case "keeps":
		b.given[id] = v
	case "cuts":
		v = v[:min(len(v), 1<<20)]
	case "silent":
		if ctx.Err() != nil {
			return nil
		}
	}
	return b.MemoryStore.Set(ctx, id, v)
}

func (b *broken) Delete(ctx context.Context, id string) error {
	if b.fault == "undeleted" {
		return nil
	}
	if b.fault == "takes along" {
		_ = b.RemoveRecords(ctx, id)
	}
	return b.MemoryStore.Delete(ctx, id)
}

func (b *broken) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	records, err := b.MemoryStore.ReadRecords(ctx, id)
	switch b.fault {
	case "backwards":
		for i := range len(records) / 2 {
			records[i], records[len(records)-1-i] = records[len(records)-1-i], records[i]
		}
	case "shares":
		all := bytes.Join(records, nil)
		for i, r := range records {
			records[i], all = all[:len(r)], all[len(r):]
		}
	}
	return records, err
}

// withoutRuns is a store that knows nothing about runs.
type withoutRuns struct {
	checkpoint.Store
	checkpoint.Deleter
	runs.Lister
	runs.Journal
}

// TestBrokenStore runs the suite on a store with the fault that the environment names. Alone, on a good one.
func TestBrokenStore(t *testing.T) {
	checkpointtest.Run(t, func(*testing.T) checkpoint.Store {
		b := &broken{checkpoint.NewMemoryStore(), os.Getenv("WEFT_FAULT"), map[string][]byte{}}
		return withoutRuns{b, b, b, b}
	})
}

// TestRun_FindsFaults: the suite fails for each fault, where it should.
func TestRun_FindsFaults(t *testing.T) {
	for fault, where := range map[string]string{
		"case":        "IDs/hostile",
		"found":       "Get/missing",
		"first":       "Set/replaces",
		"appends":     "Set/replaces",
		"keeps":       "Bytes/isolated",
		"cuts":        "Set/large",
		"silent":      "Context/ended",
		"undeleted":   "Delete/removes",
		"takes along": "Journal/beside_the_checkpoint",
		"backwards":   "Journal/order",
		"shares":      "Journal/isolated",
	} {
		t.Run(fault, func(t *testing.T) { findsFault(t, "TestBrokenStore", fault, where) })
	}
}

// findsFault runs one rule of a test in a process whose stores have a fault, and requires that it fails.
func findsFault(t *testing.T, test, fault, where string) {
	t.Helper()
	name := path.Join(test, where)
	cmd := exec.Command(os.Args[0], "-test.run=^"+strings.ReplaceAll(name, "/", "$/^")+"$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), "WEFT_FAULT="+fault)
	out, err := cmd.CombinedOutput()
	require.Error(t, err, "the fault was not found:\n%s", out)
	require.Contains(t, string(out), "--- FAIL: "+name)
	require.NotContains(t, string(out), "panic")
}

// plain has the two methods of a store and no more.
type plain struct{ checkpoint.Store }

func TestRun_OptionalPartsAreOptional(t *testing.T) {
	checkpointtest.Run(t, func(*testing.T) checkpoint.Store { return plain{checkpoint.NewMemoryStore()} })
}

// careless is a scope of which one part reads or writes the store of all tenants.
type careless struct {
	runs.Store
	all   runs.Store
	fault string
}

func (c careless) Get(ctx context.Context, id string) ([]byte, bool, error) {
	if c.fault == "checkpoints" {
		return c.all.Get(ctx, id)
	}
	return c.Store.Get(ctx, id)
}

func (c careless) Set(ctx context.Context, id string, v []byte) error {
	if c.fault == "checkpoints" {
		return c.all.Set(ctx, id, v)
	}
	return c.Store.Set(ctx, id, v)
}

func (c careless) List(ctx context.Context, q runs.Query) iter.Seq2[runs.Info, error] {
	if c.fault == "lists" {
		return c.all.List(ctx, q)
	}
	return c.Store.List(ctx, q)
}

func (c careless) AcquireDue(ctx context.Context, r runs.LeaseRequest, d runs.Due) (runs.Lease, error) {
	if c.fault == "due" {
		return c.all.AcquireDue(ctx, r, d)
	}
	return c.Store.AcquireDue(ctx, r, d)
}

// TestBrokenTenants tests tenants that are not kept apart, as the environment says.
func TestBrokenTenants(t *testing.T) {
	below := checkpoint.NewMemoryStore()
	checkpointtest.Tenants(t, func(name string) runs.Store {
		switch fault := os.Getenv("WEFT_FAULT"); fault {
		case "lower case":
			return checkpoint.Scope(below, strings.ToLower(name))
		default:
			return careless{checkpoint.Scope(below, name), below, fault}
		}
	})
}

func TestTenants_FindsFaults(t *testing.T) {
	for _, fault := range []string{"checkpoints", "lists", "due", "lower case"} {
		t.Run(fault, func(t *testing.T) { findsFault(t, "TestBrokenTenants", fault, "") })
	}
}
