package conversationtest_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/weftgo/weft/adk"
	"github.com/weftgo/weft/adk/checkpoint"
	"github.com/weftgo/weft/adk/conversation"
	"github.com/weftgo/weft/adk/conversation/conversationtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func storeOf(t *testing.T, checkpoints adk.CheckPointStore) conversation.Store {
	t.Helper()
	s, err := conversation.NewStore(checkpoints)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMemory_KeepsTheRules(t *testing.T) {
	conversationtest.Run(t, func(t *testing.T) conversation.Store { return storeOf(t, checkpoint.NewMemoryStore()) })
}

func TestFiles_KeepTheRules(t *testing.T) {
	conversationtest.Run(t, func(t *testing.T) conversation.Store {
		files, err := checkpoint.NewFileStore(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return storeOf(t, files)
	})
}

// Nothing is left of conversations that have expired.
//
// Rule distributed/M13.
func TestMemory_KeepsNothingThatWasSwept(t *testing.T) { synctest.Test(t, keepsNothingThatWasSwept) }

func keepsNothingThatWasSwept(t *testing.T) {
	kept := checkpoint.NewMemoryStore()
	s := storeOf(t, kept)
	ends := time.Now().Add(time.Second)
	_, err := s.Create(t.Context(), conversation.Info{ID: "c", Expires: ends})
	if err != nil {
		t.Fatal(err)
	}
	for head := range conversation.Position(200) { // several segments
		turn := conversation.Turn{ID: fmt.Sprint(head), Kind: conversation.Note}
		if _, err := s.Append(t.Context(), "c", conversation.Main, conversation.NewTurn{Turn: turn, Head: head}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Until(ends))
	if _, err := s.(conversation.Sweeper).Sweep(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	for info, err := range kept.ListCheckPoints(t.Context(), "") {
		t.Errorf("it keeps %q (%v)", info.ID, err)
	}
}

// TestMemory_SharedByStores has every call made by another store, as if each were in a process of its own that knows
// nothing of the others.
func TestMemory_SharedByStores(t *testing.T) {
	conversationtest.Run(t, func(t *testing.T) conversation.Store { return &fresh{checkpoint.NewMemoryStore()} })
}

// fresh opens its store again for every call that matters.
type fresh struct{ kept adk.CheckPointStore }

func (f *fresh) open() conversation.Store {
	s, err := conversation.NewStore(f.kept)
	if err != nil {
		panic(err)
	}
	return s
}

func (f *fresh) Create(ctx context.Context, i conversation.Info) (conversation.Info, error) {
	return f.open().Create(ctx, i)
}

func (f *fresh) Get(ctx context.Context, id string) (conversation.Info, bool, error) {
	return f.open().Get(ctx, id)
}

func (f *fresh) List(ctx context.Context, q conversation.Query) iter.Seq2[conversation.Info, error] {
	return f.open().List(ctx, q)
}

func (f *fresh) Delete(ctx context.Context, id string) error { return f.open().Delete(ctx, id) }

func (f *fresh) Sweep(ctx context.Context, limit int) (conversation.Swept, error) {
	return f.open().(conversation.Sweeper).Sweep(ctx, limit)
}

func (f *fresh) State(ctx context.Context, id string, b conversation.Branch) (conversation.BranchState, error) {
	return f.open().State(ctx, id, b)
}

func (f *fresh) Append(
	ctx context.Context, id string, b conversation.Branch, a conversation.NewTurn,
) (conversation.Position, error) {
	return f.open().Append(ctx, id, b, a)
}

func (f *fresh) SetOpen(
	ctx context.Context, id string, b conversation.Branch, before string, o *conversation.OpenTurn,
) error {
	return f.open().SetOpen(ctx, id, b, before, o)
}

func (f *fresh) Turns(
	ctx context.Context, id string, b conversation.Branch, from conversation.Position,
) iter.Seq2[conversation.Turn, error] {
	return f.open().Turns(ctx, id, b, from)
}

func (f *fresh) Fork(
	ctx context.Context, id string, from conversation.Branch, at conversation.Position, name conversation.Branch,
) error {
	return f.open().Fork(ctx, id, from, at, name)
}
