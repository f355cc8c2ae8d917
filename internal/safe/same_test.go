package safe

import "testing"

func TestSame(t *testing.T) {
	type holder struct{ v any }
	p := new(int)
	for name, c := range map[string]struct {
		x, y any
		want bool
	}{
		"pointer":                  {p, p, true},
		"other pointer":            {p, new(int), false},
		"other type":               {1, int64(1), false},
		"nil":                      {nil, nil, true},
		"nil and a value":          {nil, 1, false},
		"type without comparison":  {[]int{1}, []int{1}, false},
		"value without comparison": {holder{[]int{1}}, holder{[]int{1}}, false},
		"only the second":          {holder{1}, holder{[]int{1}}, false},
		"equal":                    {holder{1}, holder{1}, true},
	} {
		if got := Same(c.x, c.y); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
