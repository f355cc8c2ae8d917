package adktest

import (
	"context"
	"errors"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/runs"
)

// mortal is a store whose writes are boundaries, and which is out of reach once the process has died. saves is true for
// writes that save something, and false for those that remove it. pause is called before it hands out or renews a lease;
// nil has it hand out none.
func mortal(store adk.CheckPointStore, at func(ctx context.Context, saves bool) error, pause func()) adk.CheckPointStore {
	m := mortalStore{store, at}
	journal, ok := store.(runs.Journal)
	if !ok {
		return m
	}
	runStore, ok := store.(runStores)
	if !ok || pause == nil {
		return mortalJournal{m, journal}
	}
	return leasing{runStore, mortalJournal{m, journal}, pause}
}

type mortalStore struct {
	adk.CheckPointStore
	at func(ctx context.Context, saves bool) error
}

// errAnswerLost is the error of a write that was made.
var errAnswerLost = errors.New("adktest: the answer of the store is lost")

// write makes a write unless the process is stopped there.
func (m mortalStore) write(ctx context.Context, saves bool, do func() error) error {
	err := m.at(ctx, saves)
	if err == nil || err == errAnswerLost {
		return errors.Join(do(), err)
	}
	return err
}

func (m mortalStore) Set(ctx context.Context, id string, data []byte) error {
	return m.write(ctx, true, func() error { return m.CheckPointStore.Set(ctx, id, data) })
}

func (m mortalStore) Delete(ctx context.Context, id string) error {
	deleter, ok := m.CheckPointStore.(checkpoint.Deleter)
	if !ok {
		return nil
	}
	return m.write(ctx, false, func() error { return deleter.Delete(ctx, id) })
}

// mortalJournal is one of a store with a journal.
type mortalJournal struct {
	mortalStore
	journal runs.Journal
}

func (m mortalJournal) AppendRecord(ctx context.Context, id string, record []byte) error {
	return m.write(ctx, true, func() error { return m.journal.AppendRecord(ctx, id, record) })
}

func (m mortalJournal) ReadRecords(ctx context.Context, id string) ([][]byte, error) {
	return m.journal.ReadRecords(ctx, id)
}

func (m mortalJournal) RemoveRecords(ctx context.Context, id string) error {
	return m.write(ctx, false, func() error { return m.journal.RemoveRecords(ctx, id) })
}
