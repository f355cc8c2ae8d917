package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/weftgo/weft/adk/adktest"
	"github.com/weftgo/weft/examples/internal/drive"
)

type staff map[string]string

func (s staff) ByToken(_ context.Context, token string) (string, []string, error) {
	if s[token] == "" {
		return "", nil, errors.New("who is that?")
	}
	return s[token], nil, nil
}

func driver() {
	srv, err := secured(drive.Agent(drive.Model(adktest.Says("Hello."))), staff{"t1": "ana"})
	drive.Check(err)
	web := httptest.NewServer(srv)
	defer web.Close()
	for token, want := range map[string]int{"": 401, "t2": 401, "t1": 201} {
		req, err := http.NewRequestWithContext(drive.Context(), "POST", web.URL+"/agents/assistant/runs", strings.NewReader(`{"input":"Hello?"}`))
		drive.Check(err)
		req.Header.Set("Content-Type", "application/json")
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := http.DefaultClient.Do(req)
		drive.Check(err)
		drive.Equal(res.StatusCode, want)
		drive.Check(res.Body.Close())
	}
}
