package checkpoint

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/weftgo/weft/adk/checkpoint/storekit"
	"github.com/weftgo/weft/internal/core"
	"github.com/weftgo/weft/runs"
)

// Blobs keeps large values by their names, which are two parts of letters and digits with a slash between them. A value
// never changes. Implementations are safe for concurrent use; object stores are natural ones.
type Blobs interface {
	// Put stores a value, whole or not at all. If there is one with the name, it is the same, and stays.
	Put(ctx context.Context, name string, data []byte) error
	// Get returns a value, and an error that matches [runs.ErrNotFound] if there is none.
	Get(ctx context.Context, name string) ([]byte, error)
	// Delete removes a value. That there is none is no error.
	Delete(ctx context.Context, name string) error
	// List yields the values whose names begin with a prefix, in any order.
	List(ctx context.Context, prefix string) iter.Seq2[BlobInfo, error]
}

// BlobInfo describes a stored value in a list.
type BlobInfo struct {
	Name string
	// Put is the time at which it was stored.
	Put time.Time
}

// ErrBlobDamaged says that a large value is not the one that was stored.
var ErrBlobDamaged = errors.New("the value is not the one that was stored")

// Spill returns a store that keeps large values elsewhere: checkpoints, records and results of at least size bytes. The
// other store gets a name, a length and a SHA-256 instead. Answers and questions stay in that store. RunInfo.Bytes counts
// what is in that store.
//
// A value is put before what refers to it is written. [runs.Store.Remove] deletes the values of a run, and [runs.Store.Sweep]
// values that nothing refers to any more, when they are an hour old; it lists all of them. It panics if an argument is
// missing, or the size is below 512.
func Spill(store runs.Store, blobs Blobs, size int) runs.Store {
	if store == nil || blobs == nil || size < leastSpill {
		panic(fmt.Sprintf("checkpoint: Spill needs a store, blobs, and a size of %d or more", leastSpill))
	}
	return &spilling{store, blobs, size}
}

const (
	// leastSpill is above what stands instead of a value.
	leastSpill = 512
	// spillGrace is the time for which a value stays that nothing refers to yet.
	spillGrace = time.Hour
	// spillMagic begins what stands instead of a value. A value that begins so itself is kept elsewhere, too.
	spillMagic = "weft-blob\x00"
)

// spilled stands instead of a value.
type spilled struct {
	Name   string `json:"name"`
	Length int    `json:"length"`
	SHA256 string `json:"sha256"`
}

type spilling struct {
	store runs.Store
	blobs Blobs
	size  int
}

// Unwrap returns the store that has what is small.
func (s *spilling) Unwrap() Store { return s.store }

// blobsOf is the first part of the names of what a run has.
func blobsOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:])) + "/"
}

// put returns what the store gets of a value.
func (s *spilling) put(ctx context.Context, id string, value []byte) ([]byte, error) {
	if len(value) < s.size && !bytes.HasPrefix(value, []byte(spillMagic)) {
		return value, nil
	}
	if err := storekit.CheckSize("put a large value of", id, value); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(value)
	ref := spilled{Length: len(value), SHA256: hex.EncodeToString(sum[:])}
	ref.Name = blobsOf(id) + strings.ToLower(rand.Text()) // one of its own: what is deleted is never put again
	if err := s.blobs.Put(ctx, ref.Name, value); err != nil {
		return nil, storekit.Failed("put a large value of", id, err)
	}
	data, err := json.Marshal(ref)
	return append([]byte(spillMagic), data...), err
}

// get returns the value that the store has, or that stands elsewhere.
func (s *spilling) get(ctx context.Context, id string, data []byte) ([]byte, error) {
	ref, ok := refIn(data)
	if !ok {
		return data, nil
	}
	value, err := s.blobs.Get(ctx, ref.Name)
	if err != nil {
		return nil, storekit.Failed("get a large value of", id, err)
	}
	if sum := sha256.Sum256(value); len(value) != ref.Length || hex.EncodeToString(sum[:]) != ref.SHA256 {
		return nil, storekit.Failed("get a large value of", id, fmt.Errorf("%q: %w", ref.Name, ErrBlobDamaged))
	}
	return value, nil
}

// refIn reads what stands instead of a value.
func refIn(data []byte) (ref spilled, ok bool) {
	rest, ok := bytes.CutPrefix(data, []byte(spillMagic))
	return ref, ok && json.Unmarshal(rest, &ref) == nil
}

// putAll is put for values that it may replace.
func (s *spilling) putAll(ctx context.Context, id string, values [][]byte) (_ [][]byte, err error) {
	values = slices.Clone(values)
	for i := range values {
		if values[i], err = s.put(ctx, id, values[i]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

func (s *spilling) getAll(ctx context.Context, id string, all [][]byte) (_ [][]byte, err error) {
	for i := range all {
		if all[i], err = s.get(ctx, id, all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (s *spilling) Get(ctx context.Context, id string) ([]byte, bool, error) {
	return s.found(ctx, id)(s.store.Get(ctx, id))
}

func (s *spilling) found(ctx context.Context, id string) func([]byte, bool, error) ([]byte, bool, error) {
	return func(data []byte, exists bool, err error) ([]byte, bool, error) {
		if err == nil && exists {
			data, err = s.get(ctx, id, data)
		}
		return data, exists && err == nil, err
	}
}

func (s *spilling) Set(ctx context.Context, id string, checkPoint []byte) error {
	data, err := s.put(ctx, id, checkPoint)
	if err != nil {
		return err
	}
	return s.store.Set(ctx, id, data)
}

func (s *spilling) Delete(ctx context.Context, id string) error { return s.store.Delete(ctx, id) }

func (s *spilling) ListCheckPoints(ctx context.Context, prefix string) iter.Seq2[runs.Listed, error] {
	return s.store.ListCheckPoints(ctx, prefix)
}

func (s *spilling) AppendRecord(ctx context.Context, id string, record []byte) error {
	data, err := s.put(ctx, id, record)
	if err != nil {
		return err
	}
	return s.store.AppendRecord(ctx, id, data)
}

func (s *spilling) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	all, err := s.store.ReadRecords(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.getAll(ctx, id, all)
}

func (s *spilling) ReadRecordsFrom(ctx context.Context, id string, from int) ([][]byte, error) {
	all, err := core.ReadRecordsFrom(ctx, s.store, id, from)
	if err != nil {
		return nil, err
	}
	return s.getAll(ctx, id, all)
}

func (s *spilling) RemoveRecords(ctx context.Context, id string) error {
	return s.store.RemoveRecords(ctx, id)
}

func (s *spilling) Acquire(ctx context.Context, id string, req runs.LeaseRequest) (runs.Lease, error) {
	if req.Create != nil {
		run := *req.Create
		var err error
		if run.Records, err = s.putAll(ctx, id, run.Records); err != nil {
			return nil, err
		}
		req.Create = &run
	}
	return s.lease(s.store.Acquire(ctx, id, req))
}

func (s *spilling) AcquireDue(ctx context.Context, req runs.LeaseRequest, due runs.Due) (runs.Lease, error) {
	return s.lease(s.store.AcquireDue(ctx, req, due))
}

func (s *spilling) lease(l runs.Lease, err error) (runs.Lease, error) {
	if err != nil {
		return nil, err
	}
	return &spillingLease{l, s}, nil
}

func (s *spilling) Inspect(ctx context.Context, id string) (runs.Info, bool, error) {
	return s.store.Inspect(ctx, id)
}

func (s *spilling) Result(ctx context.Context, id string) ([]byte, error) {
	data, err := s.store.Result(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.get(ctx, id, data)
}

func (s *spilling) List(ctx context.Context, q runs.Query) iter.Seq2[runs.Info, error] {
	return s.store.List(ctx, q)
}

func (s *spilling) Count(ctx context.Context, q runs.Query) (map[runs.Status]int64, error) {
	return s.store.Count(ctx, q)
}

func (s *spilling) Submit(ctx context.Context, id string, run runs.Spec) (_ runs.Info, err error) {
	if run.Records, err = s.putAll(ctx, id, run.Records); err != nil {
		return runs.Info{}, err
	}
	return s.store.Submit(ctx, id, run)
}

func (s *spilling) Reply(ctx context.Context, id string, answers ...runs.Reply) error {
	return s.store.Reply(ctx, id, answers...)
}

func (s *spilling) Stop(ctx context.Context, id string, how runs.StopRequest) error {
	return s.store.Stop(ctx, id, how)
}

func (s *spilling) Continue(ctx context.Context, id string) error { return s.store.Continue(ctx, id) }

// Remove removes the run, and then the large values that it had: the values of a run that is made with its ID meanwhile
// stay.
func (s *spilling) Remove(ctx context.Context, id string, force bool) error {
	var names []string
	for blob, err := range s.blobs.List(ctx, blobsOf(id)) {
		if err != nil {
			return storekit.Failed("list the large values of", id, err)
		}
		names = append(names, blob.Name)
	}
	if err := s.store.Remove(ctx, id, force); err != nil {
		return err
	}
	for _, name := range names {
		if err := s.blobs.Delete(ctx, name); err != nil {
			return storekit.Failed("remove the large values of", id, err)
		}
	}
	return nil
}

// Sweep removes runs that have expired, and then large values that nothing refers to.
func (s *spilling) Sweep(ctx context.Context, limit int) (runs.Swept, error) {
	swept, err := s.store.Sweep(ctx, limit)
	if err != nil || swept.More {
		return swept, err
	}
	old := map[string][]string{} // by the first part of their names
	for blob, err := range s.blobs.List(ctx, "") {
		if err != nil {
			return swept, fmt.Errorf("sweep large values: %w", err)
		}
		if of, _, ok := strings.Cut(blob.Name, "/"); ok && time.Since(blob.Put) > spillGrace {
			old[of+"/"] = append(old[of+"/"], blob.Name)
		}
	}
	if len(old) == 0 {
		return swept, nil
	}
	used, err := s.used(ctx, old)
	if err != nil {
		return swept, fmt.Errorf("sweep large values: %w", err)
	}
	for _, names := range old {
		for _, name := range names {
			if used[name] {
				continue
			}
			if err := s.blobs.Delete(ctx, name); err != nil {
				return swept, fmt.Errorf("sweep large values: %w", err)
			}
		}
	}
	return swept, nil
}

// used are the names that runs with old values refer to.
func (s *spilling) used(ctx context.Context, old map[string][]string) (used map[string]bool, err error) {
	used = map[string]bool{}
	ids := map[string]bool{}
	for info, err := range s.store.List(ctx, runs.Query{}) {
		if err != nil {
			return nil, err
		}
		ids[info.ID] = true
	}
	for info, err := range s.store.ListCheckPoints(ctx, "") {
		if err != nil {
			return nil, err
		}
		ids[info.ID] = true
	}
	for id := range ids {
		if old[blobsOf(id)] == nil {
			continue
		}
		values, err := s.store.ReadRecords(ctx, id)
		if err != nil {
			return nil, err
		}
		data, _, err := s.store.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		result, err := s.store.Result(ctx, id)
		if err != nil && !errors.Is(err, runs.ErrNotFound) {
			return nil, err
		}
		for _, value := range append(values, data, result) {
			if ref, ok := refIn(value); ok {
				used[ref.Name] = true
			}
		}
	}
	return used, nil
}

// spillingLease is the lease of a run whose large values are kept elsewhere.
type spillingLease struct {
	runs.Lease
	spill *spilling
}

func (l *spillingLease) Get(ctx context.Context, id string) ([]byte, bool, error) {
	return l.spill.found(ctx, id)(l.Lease.Get(ctx, id))
}

func (l *spillingLease) Set(ctx context.Context, id string, checkPoint []byte) error {
	data, err := l.spill.put(ctx, id, checkPoint)
	if err != nil {
		return err
	}
	return l.Lease.Set(ctx, id, data)
}

func (l *spillingLease) AppendRecord(ctx context.Context, id string, record []byte) error {
	data, err := l.spill.put(ctx, id, record)
	if err != nil {
		return err
	}
	return l.Lease.AppendRecord(ctx, id, data)
}

func (l *spillingLease) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	all, err := l.Lease.ReadRecords(ctx, id)
	if err != nil {
		return nil, err
	}
	return l.spill.getAll(ctx, id, all)
}

func (l *spillingLease) Settle(ctx context.Context, end runs.Settlement) (err error) {
	id := l.Info().ID
	if end.Checkpoint != nil {
		if end.Checkpoint, err = l.spill.put(ctx, id, end.Checkpoint); err != nil {
			return err
		}
	}
	if end.Result, err = l.spill.put(ctx, id, end.Result); err != nil {
		return err
	}
	end.Children = slices.Clone(end.Children)
	for i := range end.Children {
		c := &end.Children[i]
		if c.Run.Records, err = l.spill.putAll(ctx, c.ID, c.Run.Records); err != nil {
			return err
		}
	}
	return l.Lease.Settle(ctx, end)
}
