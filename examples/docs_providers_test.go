package examples

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftgo/weft/examples/internal/drive"
)

// providerServers are the servers that answer in the place of all providers.
type providerServers struct {
	// proxy is the URL of a proxy that leads every host to one server, whose certificates are signed by the authority in the
	// file. plain is the address of one without TLS.
	proxy, authority, plain string
}

// providers starts servers that answer in the place of all providers, whatever host they are asked under.
func providers(t *testing.T) providerServers {
	t.Helper()
	plain := httptest.NewServer(drive.Provider())
	t.Cleanup(plain.Close)
	sign, authority := newAuthority(t)
	secure := httptest.NewUnstartedServer(drive.Provider())
	secure.TLS = &tls.Config{GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) { return sign(hello.ServerName) }}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
			return
		}
		server, err := net.Dial("tcp", secure.Listener.Addr().String())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		client, sent, err := http.NewResponseController(w).Hijack()
		if err != nil {
			server.Close()
			return
		}
		_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(server, sent.Reader)
			server.Close()
		}()
		_, _ = io.Copy(client, server)
		client.Close()
	}))
	t.Cleanup(proxy.Close)
	return providerServers{proxy.URL, authority, strings.TrimPrefix(plain.URL, "http://")}
}

// newAuthority returns what makes certificates of hosts, and the file with the certificate that they are signed by.
func newAuthority(t *testing.T) (sign func(host string) (*tls.Certificate, error), file string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "tests of the documentation"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign}
	root, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	writeFile(t, dir, "authority.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root})))
	return func(host string) (*tls.Certificate, error) {
		leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
			NotBefore: template.NotBefore, NotAfter: template.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
		cert, err := x509.CreateCertificate(rand.Reader, leaf, template, &key.PublicKey, key)
		if err != nil {
			return nil, err
		}
		return &tls.Certificate{Certificate: [][]byte{cert}, PrivateKey: key}, nil
	}, filepath.Join(dir, "authority.pem")
}

// freeAddress returns an address on loopback that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
