package override

//lint:file-ignore U1000 reflection looks at the embedded fields

import (
	"os"
	"os/exec"
	"reflect"
	"testing"
)

type (
	base           struct{}
	nothing        struct{ base }
	pointerNothing struct{ *base }
	own            struct{ base }
	ownPointer     struct{ *base }
	generic[T any] struct{ base }
	around         struct{ own }
	aroundPointer  struct{ *own }
	aroundNothing  struct{ nothing }
	mixed          struct {
		other
		base
	}
	other   struct{}
	hook    interface{ Hook() }
	byField struct{ hook }
	twice   struct {
		base
		deep struct{ own }
	}
)

func (base) Hook()        {}
func (own) Hook()         {}
func (*ownPointer) Hook() {}
func (generic[T]) Hook()  {}
func (other) Unrelated()  {}

func TestOf(t *testing.T) {
	for _, c := range []struct {
		of        any
		overrides bool
	}{
		{base{}, false}, {&base{}, false},
		{nothing{}, false}, {&nothing{}, false}, {pointerNothing{}, false}, {&pointerNothing{}, false},
		{own{}, true}, {&own{}, true}, {&ownPointer{}, true}, {generic[int]{}, true}, {&generic[string]{}, true},
		{around{}, true}, {&around{}, true}, {aroundPointer{}, true}, {&aroundPointer{}, true},
		{aroundNothing{}, false}, {&aroundNothing{}, false}, {&mixed{}, false}, {&twice{}, false},
		{byField{own{}}, true}, {&byField{base{}}, true}, // what is in an interface is not known
	} {
		typ := reflect.TypeOf(c.of)
		if got := Of(typ, reflect.TypeFor[base](), "Hook"); got != c.overrides {
			t.Errorf("Of(%v, Hook) = %v", typ, got)
		}
	}
}

// TestOf_InBuildsWithoutPaths: where the source is not known, it is still known which methods have none.
func TestOf_InBuildsWithoutPaths(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles the package without paths: left out with -short")
	}
	if os.Getenv("WEFT_OVERRIDE_CHILD") != "" {
		t.Skip("this is the build without paths")
	}
	cmd := exec.Command("go", "test", "-count=1", "-trimpath", "-ldflags=-s -w", "-run", "^TestOf$", ".")
	cmd.Env = append(os.Environ(), "WEFT_OVERRIDE_CHILD=1", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
