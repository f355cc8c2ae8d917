package core

import "strconv"

// CallKeys makes keys of the IDs of the n calls of an answer, in place: a key is the ID, unless a call before has that
// already. Models do not always give every call an ID of its own, so where they do not, the place of the call counts: the
// second with an ID "a" is "a~2". Addresses of calls have the keys, and so does everything that refers to one call of an
// answer.
func CallKeys(n int, key func(i int) *string) {
	if n < 2 {
		return
	}
	if n > fewCalls {
		manyCallKeys(n, key)
		return
	}
	for i := 1; i < n; i++ {
		k := key(i)
		id := *k
		for again := 2; hasKey(i, key, *k); again++ {
			*k = againKey(id, again)
		}
	}
}

// fewCalls is up to how many calls looking at all before costs less than a map.
const fewCalls = 16

// hasKey reports whether one of the first n calls has a key.
func hasKey(n int, key func(i int) *string, wanted string) bool {
	for i := range n {
		if *key(i) == wanted {
			return true
		}
	}
	return false
}

func manyCallKeys(n int, key func(i int) *string) {
	taken, used := make(map[string]bool, n), map[string]int{}
	for i := range n {
		k := key(i)
		id := *k
		for again := max(2, used[id]+1); taken[*k]; again++ {
			*k = againKey(id, again)
			used[id] = again
		}
		taken[*k] = true
	}
}

func againKey(id string, again int) string { return id + "~" + strconv.Itoa(again) }
