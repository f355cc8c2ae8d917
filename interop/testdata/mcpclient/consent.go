package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// consent is a handler of OAuth whose user allows everything: the suite's server sends the user straight back.
func consent(wanted task, scenario string) (auth.OAuthHandler, error) {
	const back = "http://localhost:3000/callback"
	conf := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: back,
		ClientIDMetadataDocumentConfig: &auth.ClientIDMetadataDocumentConfig{
			URL: "https://conformance-test.local/client-metadata.json"},
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "weft", RedirectURIs: []string{back}}},
		AuthorizationCodeFetcher: fetch,
		RequestRefreshToken:      scenario == "auth/offline-access-scope",
	}
	if wanted.ClientID != "" {
		conf.PreregisteredClient = &oauthex.ClientCredentials{ClientID: wanted.ClientID}
		if wanted.ClientSecret != "" {
			conf.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: wanted.ClientSecret}
		}
		conf.ClientIDMetadataDocumentConfig = nil
	}
	return auth.NewAuthorizationCodeHandler(conf)
}

// fetch opens the page where a user would consent.
func fetch(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, args.URL, nil)
	if err != nil {
		return nil, err
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	to, err := url.Parse(response.Header.Get("Location"))
	if err != nil || to.Query().Get("code") == "" {
		return nil, fmt.Errorf("the user was not sent back: %s", response.Status)
	}
	return &auth.AuthorizationResult{Code: to.Query().Get("code"), State: to.Query().Get("state"),
		Iss: to.Query().Get("iss")}, nil
}
