package sqlite

import (
	"cmp"
	"slices"
	"unicode"

	"github.com/weftgo/weft/ext/vector"
)

const (
	// fusionRank is the constant of reciprocal rank fusion: how little the first places count more than those behind.
	fusionRank = 60
	// fusionDepth is the multiple of the limit that each of the two searches returns, at least fusionMin documents:
	// what is far behind in one of them may be first in the other.
	fusionDepth, fusionMin = 4, 50
)

// byBoth ranks documents by their places among the nearest and among those with the words of the query.
func (s *search) byBoth() ([]vector.Scored[int64], error) {
	depth := max(fusionDepth*s.Limit, fusionMin)
	nearest, err := s.byVector(depth)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(nearest, func(a, b vector.Scored[int64]) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Key, b.Key))
	})
	byWords, err := s.byWords(depth)
	if err != nil {
		return nil, err
	}
	byVector := make([]int64, len(nearest))
	for i := range nearest {
		byVector[i] = nearest[i].Key
	}
	return fuse(s.Limit, byVector, byWords), nil
}

// fuse scores each document by its places in two rankings. The first of both has the score 1.
func fuse(limit int, rankings ...[]int64) []vector.Scored[int64] {
	scores := map[int64]float64{}
	for _, ranking := range rankings {
		for place, number := range ranking {
			scores[number] += (fusionRank + 1) / float64(fusionRank+1+place) / float64(len(rankings))
		}
	}
	top := vector.NewTop[int64](limit)
	for number, score := range scores {
		top.Offer(number, score)
	}
	return top.Best()
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }
