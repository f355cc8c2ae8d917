package schema

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The reference model of the stream operations. An element carries where it comes from and what happened to it, its
// lane; a tree of copies, merges and converts keeps the order within a lane and promises nothing between lanes. So a
// reader is described by the elements it must yield in each lane.

// element is the n-th of its lane. The lane is the leaf's name followed by the marks of the converts on the way.
type element struct {
	lane string
	n    int
}

type lanes map[string][]got[element]

// tree is a reader under test with what it must yield.
type tree struct {
	sr    *StreamReader[element]
	want  lanes
	names []string // ends it must report
}

type forest struct {
	*rand.Rand
	tb    testing.TB
	count int
	wg    sync.WaitGroup // producers
}

func (f *forest) name(prefix string) string {
	f.count++
	return fmt.Sprint(prefix, f.count)
}

var errItem = errors.New("item")

// leaf is an array or a pipe with a producer of its own.
func (f *forest) leaf() tree {
	lane := f.name("L")
	items := make([]got[element], f.IntN(30))
	isArray := f.IntN(3) == 0
	for i := range items {
		items[i].v = element{lane, i}
		if !isArray && f.IntN(8) == 0 {
			items[i].err = errItem
		}
	}
	if isArray {
		arr := make([]element, len(items))
		for i, item := range items {
			arr[i] = item.v
		}
		return tree{sr: StreamReaderFromArray(arr), want: lanes{lane: items}}
	}
	sr, sw := Pipe[element](f.IntN(12))
	f.wg.Go(func() {
		defer sw.Close()
		for _, item := range items {
			if sw.Send(item.v, item.err) {
				return
			}
		}
	})
	return tree{sr: sr, want: lanes{lane: items}}
}

// convert marks every element, leaves some out and adds errors to some. Error items keep no value.
func (f *forest) convert(in tree) tree {
	mark := f.name(".c")
	out := tree{want: lanes{}, names: in.names}
	apply := func(e element) (element, error) {
		e.lane += mark
		switch e.n % 7 {
		case 3:
			return e, ErrNoValue
		case 5:
			return e, errItem
		}
		return e, nil
	}
	out.sr = StreamReaderWithConvert(in.sr, apply)
	for lane, items := range in.want {
		var left []got[element]
		for _, item := range items {
			if item.err != nil {
				left = append(left, got[element]{err: item.err})
				continue
			}
			v, err := apply(item.v)
			if err != ErrNoValue {
				left = append(left, got[element]{v, err})
			}
		}
		out.want[lane+mark] = left
	}
	return out
}

// copies marks each copy, so that copies merged later can be distinguished.
func (f *forest) copies(in tree) []tree {
	var out []tree
	for _, sr := range in.sr.Copy(2 + f.IntN(3)) {
		out = append(out, f.convert(tree{sr: sr, want: in.want, names: in.names}))
	}
	return out
}

func (f *forest) merge(in []tree) tree {
	out := tree{want: lanes{}}
	srs := make([]*StreamReader[element], len(in))
	names := make([]string, len(in))
	for i, t := range in {
		srs[i] = t.sr
		names[i] = f.name("M")
		for lane, items := range t.want {
			out.want[lane] = items
		}
		out.names = append(out.names, t.names...)
	}
	if f.IntN(2) == 0 {
		out.sr = InternalMergeNamedStreamReaders(srs, names)
		out.names = append(out.names, names...)
		// through a convert: a merge of a merged reader would lose the names
		return f.convert(out)
	}
	out.sr = MergeStreamReaders(srs)
	return out
}

// grow combines leaves at random until few readers are left.
func (f *forest) grow() []tree {
	var trees []tree
	for range 1 + f.IntN(5) {
		trees = append(trees, f.leaf())
	}
	for range f.IntN(8) {
		f.Shuffle(len(trees), func(i, j int) { trees[i], trees[j] = trees[j], trees[i] })
		switch op := f.IntN(3); {
		case op == 0:
			trees[0] = f.convert(trees[0])
		case op == 1:
			trees = append(f.copies(trees[0]), trees[1:]...)
		case len(trees) > 1:
			n := 2 + f.IntN(len(trees)-1)
			trees = append([]tree{f.merge(trees[:n])}, trees[n:]...)
		}
	}
	return trees
}

// check compares what a reader has yielded with the model; a reader closed early has yielded a prefix of every lane.
func (f *forest) check(t tree, all []got[element], early bool) {
	assert := assert.New(f.tb) // from many goroutines
	seen := lanes{}
	var names []string
	errorsOnly := 0
	for _, g := range all {
		if name, ok := GetSourceName(g.err); ok {
			names = append(names, name)
		} else if g.v.lane == "" {
			errorsOnly++ // lost its value, and so its lane, in a convert
		} else {
			seen[g.v.lane] = append(seen[g.v.lane], g)
		}
	}
	wantErrors := 0
	for lane, items := range t.want {
		var want []got[element]
		for _, item := range items {
			if item.v.lane == "" {
				wantErrors++
			} else {
				want = append(want, item)
			}
		}
		if early {
			want = want[:min(len(want), len(seen[lane]))]
		}
		if len(want) == 0 {
			want = nil
		}
		assert.Equal(want, seen[lane], lane)
		delete(seen, lane)
	}
	assert.Empty(seen)
	if early {
		assert.LessOrEqual(errorsOnly, wantErrors)
		return
	}
	assert.Equal(wantErrors, errorsOnly)
	slices.Sort(names)
	want := slices.Clone(t.names)
	slices.Sort(want)
	assert.Equal(strings.Join(want, " "), strings.Join(names, " "))
}

// read takes everything, or at most limit items, from sr.
func read(sr *StreamReader[element], limit int) (all []got[element]) {
	defer sr.Close()
	for len(all) < limit {
		v, err := sr.Recv()
		if err == io.EOF {
			break
		}
		all = append(all, got[element]{v, err})
	}
	return all
}

func TestStreamTrees_MatchTheModel(t *testing.T) {
	rounds := uint64(2000)
	if testing.Short() {
		rounds = 200
	}
	for seed := range rounds {
		f := &forest{Rand: rand.New(rand.NewPCG(seed, 1)), tb: t}
		var readers sync.WaitGroup
		for _, tree := range f.grow() {
			limit := 1 << 30
			if f.IntN(4) == 0 {
				limit = f.IntN(20)
			}
			readers.Go(func() {
				f.check(tree, read(tree.sr, limit), limit < 1<<30)
			})
		}
		readers.Wait()
		f.wg.Wait() // every producer was stopped or has sent all
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
