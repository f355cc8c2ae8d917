// Command temporal-devserver is a Temporal server for tests and for trying things out, in one process, with SQLite.
//
//	temporal-devserver [-addr 127.0.0.1:0] [-db file] [-namespace default]
//
// It prints its address on the first line of its output, and ends when it is interrupted or its input ends. Without -db
// it forgets everything then. With -db and its address it can be killed and started again. It uses the eight ports
// behind its own, too.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	serverlog "go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

// clusterName is the name of the only cluster.
const clusterName = "active"

// attributes are the search attributes that temporalengine.Config.SearchAttributes sets.
var attributes = map[string]enums.IndexedValueType{
	"WeftStatus":     enums.INDEXED_VALUE_TYPE_KEYWORD,
	"WeftAgent":      enums.INDEXED_VALUE_TYPE_KEYWORD,
	"WeftTenant":     enums.INDEXED_VALUE_TYPE_KEYWORD,
	"WeftWaitingFor": enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}

// settings are the settings that differ from a production server's. A queue of one partition has no task that waits in a
// partition without a poller.
var settings = dynamicconfig.StaticClient{
	dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): []dynamicconfig.ConstrainedValue{{Value: true}},
	dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():      []dynamicconfig.ConstrainedValue{{Value: 1}},
	dynamicconfig.MatchingNumTaskqueueWritePartitions.Key():     []dynamicconfig.ConstrainedValue{{Value: 1}},
}

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "loopback address to listen on; port 0 is a free one")
	db := flag.String("db", "", "file of the database; none keeps it in memory")
	namespace := flag.String("namespace", "default", "namespace to make")
	flag.Parse()
	if err := serve(*addr, *db, *namespace); err != nil {
		log.Fatal("temporal-devserver: ", err)
	}
}

// serve runs a server until it is interrupted or its input ends.
func serve(addr, db, namespace string) error {
	conf, err := configure(addr, db)
	if err != nil {
		return err
	}
	store := conf.Persistence.DataStores[sqliteplugin.PluginName].SQL
	if _, err := os.Stat(db); db != "" && errors.Is(err, fs.ErrNotExist) {
		if err := sqlite.SetupSchema(store); err != nil {
			return err
		}
	}
	made, err := sqlite.NewNamespaceConfig(clusterName, namespace, false, attributes)
	if err != nil {
		return err
	}
	if err := sqlite.CreateNamespaces(store, made); err != nil {
		return err
	}
	server, err := temporal.NewServer(temporal.WithConfig(conf), temporal.ForServices(temporal.DefaultServices),
		temporal.WithLogger(serverlog.NewNoopLogger()), temporal.WithDynamicConfigClient(settings))
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	fmt.Println(conf.PublicClient.HostPort)
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt, syscall.SIGTERM)
	go func() { // the process that started it has ended
		_, _ = io.Copy(io.Discard, os.Stdin)
		end <- os.Interrupt
	}()
	<-end
	return server.Stop()
}

// configure makes the configuration of a server with all its services in one process.
func configure(addr, db string) (*config.Config, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	ip := net.ParseIP(host)
	if ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("-addr %s is no loopback address: there is no authentication", addr)
	}
	first, err := strconv.Atoi(port)
	if err == nil && first == 0 {
		first, err = freePorts(host, 9)
	}
	if err != nil {
		return nil, err
	}
	at := func(i int) string { return net.JoinHostPort(host, strconv.Itoa(first+i)) }
	// A server that is started again has the same ports: the ports of the one before would count as alive for a minute.
	service := func(i int) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: first + i, MembershipPort: first + i + 4, BindOnIP: host}}
	}
	store := &config.SQL{PluginName: sqliteplugin.PluginName, DatabaseName: db,
		ConnectAttributes: map[string]string{"mode": "rwc", "_journal_mode": "wal", "_synchronous": "off"}}
	if db == "" {
		store.DatabaseName = fmt.Sprint("weft", os.Getpid())
		store.ConnectAttributes = map[string]string{"mode": "memory", "cache": "shared"}
	}
	return &config.Config{
		Global: config.Global{
			Membership: config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: host},
			Metrics: &metrics.Config{Prometheus: &metrics.PrometheusConfig{
				ListenAddress: at(8), HandlerPath: "/metrics"}},
		},
		Persistence: config.Persistence{DefaultStore: sqliteplugin.PluginName, VisibilityStore: sqliteplugin.PluginName,
			NumHistoryShards: 1, DataStores: map[string]config.DataStore{sqliteplugin.PluginName: {SQL: store}}},
		ClusterMetadata: &cluster.Config{FailoverVersionIncrement: 10, MasterClusterName: clusterName,
			CurrentClusterName: clusterName, ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: at(0)}}},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services: map[string]config.Service{
			"frontend": service(0), "history": service(1), "matching": service(2), "worker": service(3)},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchival{State: config.ArchivalDisabled}},
		PublicClient: config.PublicClient{HostPort: at(0)},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: config.ArchivalDisabled}}},
	}, nil
}

// freePorts finds n ports in a row on which no process listens, and returns the first.
func freePorts(host string, n int) (first int, err error) {
	for range 100 {
		if first, err = tryPorts(host, n); err == nil {
			return first, nil
		}
	}
	return 0, fmt.Errorf("there are no %d free ports in a row: %w", n, err)
}

func tryPorts(host string, n int) (first int, err error) {
	for i := range n {
		port := 0
		if i > 0 {
			port = first + i
		}
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			return 0, err
		}
		defer l.Close()
		if i == 0 {
			first = l.Addr().(*net.TCPAddr).Port
		}
	}
	return first, nil
}
