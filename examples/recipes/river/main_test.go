package main

import (
	"context"
	"testing"
	"time"
)

func TestServe_EveryOrderEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := serve(ctx, t.TempDir(), 10); err != nil {
		t.Fatal(err)
	}
}
