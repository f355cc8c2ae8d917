package jinja

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// What one rendering may use.
const (
	maxSteps = 10_000_000 // in units of about 100 ns
	maxNodes = 100_000    // values in a value, strings counting one for every 64 bytes
	maxDepth = 100        // calls in calls, and values in values

	stepsPerIteration = 20
	stepsPerCall      = 50
)

var (
	// errTooLong is returned when the rendered text, or a text on the way to it, would exceed the limit.
	errTooLong = errors.New("rendered template is too long")
	// errTooMuchWork is returned when a template computes too much.
	errTooMuchWork = errors.New("template takes too many steps")
	// errTooLarge is returned when a template makes a value that is too large.
	errTooLarge = errors.New("template makes a value that is too large")
	// errTooDeep is returned when macros, loops or blocks call themselves too deeply.
	errTooDeep = errors.New("template recurses too deeply")

	errChannel = errors.New("templates cannot read channels")
)

// budgetName is the variable that holds the budget. No template can name it.
const budgetName = "\x00budget"

// budget counts what one rendering uses. Its first error stays: templates can swallow errors, but not escape them.
type budget struct {
	steps int // used
	bytes int // of printed text, left
	depth int
	err   error
}

func budgetOf(e *exec.Environment) *budget {
	if b, ok := e.Context.Get(budgetName); ok {
		return b.(*budget)
	}
	return &budget{err: errors.New("template is rendered without a budget")}
}

func (b *budget) fail(err error) error {
	if b.err == nil {
		b.err = err
	}
	return b.err
}

func (b *budget) spend(steps int) error {
	if b.steps += steps; b.steps > maxSteps {
		return b.fail(errTooMuchWork)
	}
	return b.err
}

// print spends bytes of printed text.
func (b *budget) print(n int) error {
	if b.bytes -= n; b.bytes < 0 {
		return b.fail(errTooLong)
	}
	return b.spend(n / 64)
}

// use spends the steps of going through v.
func (b *budget) use(v *exec.Value) error {
	if isChannel(v) {
		return b.fail(errChannel)
	}
	n, _ := size(v)
	return b.spend(1 + n)
}

// iterate spends the steps of a loop over v.
func (b *budget) iterate(v *exec.Value) error {
	if isChannel(v) {
		return b.fail(errChannel)
	}
	return b.spend(1 + stepsPerIteration*length(v))
}

// isChannel reports whether v is a channel, which the engine would read until it is closed, if ever.
func isChannel(v *exec.Value) bool { return v.Val.Kind() == reflect.Chan }

// accept checks a value that the template has made.
func (b *budget) accept(v *exec.Value) error {
	n, ok := size(v)
	if !ok {
		return b.fail(errTooLarge)
	}
	return b.spend(1 + n)
}

// size counts the values in v, and reports false if they are too many or too deep to be counted.
func size(v *exec.Value) (n int, ok bool) {
	if v == nil {
		return 0, true
	}
	c := counter{}
	ok = c.count(v.Val, 0)
	return c.n, ok
}

type counter struct{ n int }

func (c *counter) count(v reflect.Value, depth int) bool {
	c.n++
	if c.n > maxNodes || depth > maxDepth {
		return false
	}
	switch v.Kind() {
	case reflect.String:
		c.n += v.Len() / 64
		return c.n <= maxNodes
	case reflect.Interface:
		return c.count(v.Elem(), depth)
	case reflect.Pointer:
		return c.countPointer(v, depth)
	case reflect.Slice, reflect.Array:
		return c.countList(v, depth)
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if !c.count(it.Key(), depth+1) || !c.count(it.Value(), depth+1) {
				return false
			}
		}
	}
	return true
}

// countPointer looks into the engine's own values; structs of users are one value each.
func (c *counter) countPointer(v reflect.Value, depth int) bool {
	if v.IsNil() || !v.CanInterface() {
		return true
	}
	switch p := v.Interface().(type) {
	case *exec.Value:
		return c.count(p.Val, depth)
	case *exec.Dict:
		for _, pair := range p.Pairs {
			if !c.count(pair.Key.Val, depth+1) || !c.count(pair.Value.Val, depth+1) {
				return false
			}
		}
	case *exec.Pair:
		return c.count(p.Key.Val, depth+1) && c.count(p.Value.Val, depth+1)
	}
	return true
}

func (c *counter) countList(v reflect.Value, depth int) bool {
	switch v.Type().Elem().Kind() {
	case reflect.Interface, reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map, reflect.String:
		for i := range v.Len() {
			if !c.count(v.Index(i), depth+1) {
				return false
			}
		}
	default:
		c.n += v.Len()
	}
	return c.n <= maxNodes
}

// tick is a statement that the guard puts at the beginning of whatever can be repeated.
type tick struct {
	steps int
	bytes int // of the literal text that follows
	enter int // 1 at the beginning and -1 at the end of what can call itself
}

var _ exec.ControlStructure = (*tick)(nil)

func (t *tick) Position() *tokens.Token { return guardToken }
func (t *tick) String() string          { return "guard" }

func (t *tick) Execute(r *exec.Renderer, _ *nodes.ControlStructureBlock) error {
	b := budgetOf(r.Environment)
	if b.depth += t.enter; b.depth > maxDepth {
		return b.fail(fmt.Errorf("%w: more than %d calls", errTooDeep, maxDepth))
	}
	if err := b.print(t.bytes); err != nil {
		return err
	}
	return b.spend(t.steps)
}
