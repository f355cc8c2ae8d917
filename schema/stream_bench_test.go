package schema

import (
	"fmt"
	"io"
	"testing"
)

// drain reads sr to its end and returns how many items it yielded.
func drain[T any](tb testing.TB, sr *StreamReader[T]) int {
	defer sr.Close()
	n := 0
	for {
		_, err := sr.Recv()
		if err == io.EOF {
			return n
		}
		if err != nil {
			tb.Error(err)
			return n
		}
		n++
	}
}

// produce returns a reader of a pipe into which a goroutine sends n times v.
func produce[T any](capacity, n int, v T) *StreamReader[T] {
	sr, sw := Pipe[T](capacity)
	go func() {
		defer sw.Close()
		for range n {
			if sw.Send(v, nil) {
				return
			}
		}
	}()
	return sr
}

const benchItems = 10000

func reportPerItem(b *testing.B) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchItems, "ns/item")
}

// BenchmarkPipe compares a pipe with a channel of the same capacity.
func BenchmarkPipe(b *testing.B) {
	v := new(int)
	for _, capacity := range []int{0, 1, 16, 128} {
		b.Run(fmt.Sprintf("pipe/cap%d", capacity), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if drain(b, produce(capacity, benchItems, v)) != benchItems {
					b.Fatal("lost items")
				}
			}
			reportPerItem(b)
		})
		b.Run(fmt.Sprintf("channel/cap%d", capacity), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ch := make(chan *int, capacity)
				go func() {
					defer close(ch)
					for range benchItems {
						ch <- v
					}
				}()
				n := 0
				for range ch {
					n++
				}
				if n != benchItems {
					b.Fatal("lost items")
				}
			}
			reportPerItem(b)
		})
	}
}

func BenchmarkCopy4(b *testing.B) {
	v := new(int)
	b.Run("sequential", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, sr := range produce(16, benchItems, v).Copy(4) {
				drain(b, sr)
			}
		}
		reportPerItem(b)
	})
	b.Run("concurrent", func(b *testing.B) {
		b.ReportAllocs()
		done := make(chan int, 4)
		for b.Loop() {
			for _, sr := range produce(16, benchItems, v).Copy(4) {
				go func() { done <- drain(b, sr) }()
			}
			for range 4 {
				if <-done != benchItems {
					b.Fatal("lost items")
				}
			}
		}
		reportPerItem(b)
	})
	b.Run("lockstep", func(b *testing.B) {
		src := make([]*int, benchItems)
		b.ReportAllocs()
		for b.Loop() {
			srs := StreamReaderWithConvert(StreamReaderFromArray(src), identity[*int]).Copy(4)
			for range benchItems {
				for _, sr := range srs {
					if _, err := sr.Recv(); err != nil {
						b.Fatal(err)
					}
				}
			}
			for _, sr := range srs {
				sr.Close()
			}
		}
		reportPerItem(b)
	})
}

func identity[T any](v T) (T, error) { return v, nil }

func BenchmarkConvert(b *testing.B) {
	src := make([]*int, benchItems)
	for _, depth := range []int{1, 4} {
		b.Run(fmt.Sprintf("depth%d", depth), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sr := StreamReaderFromArray(src)
				for range depth {
					sr = StreamReaderWithConvert(sr, identity)
				}
				drain(b, sr)
			}
			reportPerItem(b)
		})
	}
}

func BenchmarkMerge(b *testing.B) {
	v := new(int)
	for _, ways := range []int{2, 8, 32} {
		b.Run(fmt.Sprintf("pipes%d", ways), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				srs := make([]*StreamReader[*int], ways)
				for i := range srs {
					srs[i] = produce(16, benchItems/ways, v)
				}
				if drain(b, MergeStreamReaders(srs)) != benchItems/ways*ways {
					b.Fatal("lost items")
				}
			}
			reportPerItem(b)
		})
	}
}

// BenchmarkSmall is the cost of the readers that most calls of a model make: one chunk, read once.
func BenchmarkSmall(b *testing.B) {
	v := new(int)
	b.Run("single", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			drain(b, StreamReaderFromArray([]*int{v}))
		}
	})
	b.Run("pipe", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sr, sw := Pipe[*int](1)
			sw.Send(v, nil)
			sw.Close()
			drain(b, sr)
		}
	})
	b.Run("copy2", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			sr, sw := Pipe[*int](1)
			sw.Send(v, nil)
			sw.Close()
			for _, c := range sr.Copy(2) {
				drain(b, c)
			}
		}
	})
}
