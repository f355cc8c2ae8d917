// Command temporal-devserver is a Temporal server for tests and for trying things out, in one process, with SQLite.
//
//	temporal-devserver [-addr 127.0.0.1:0] [-db file] [-namespace default]
//
// It prints its address on the first line of its output, and ends when it is interrupted or its input ends. Without -db
// it forgets everything then. With -db and a fixed address it can be killed and started again.
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

// clusterName is that of the only cluster.
const clusterName = "active"

// attributes are the search attributes that temporalengine.Config.SearchAttributes sets.
var attributes = map[string]enums.IndexedValueType{
	"WeftStatus":     enums.INDEXED_VALUE_TYPE_KEYWORD,
	"WeftAgent":      enums.INDEXED_VALUE_TYPE_KEYWORD,
	"WeftTenant":     enums.INDEXED_VALUE_TYPE_KEYWORD,
	"WeftWaitingFor": enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
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

// serve runs a server until somebody ends it.
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
		temporal.WithLogger(serverlog.NewNoopLogger()), temporal.WithDynamicConfigClient(dynamicconfig.StaticClient{
			dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): []dynamicconfig.ConstrainedValue{{Value: true}},
		}))
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	fmt.Println(conf.PublicClient.HostPort)
	end := make(chan os.Signal, 1)
	signal.Notify(end, os.Interrupt, syscall.SIGTERM)
	go func() { // whoever started it has ended
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
	ports, err := freePorts(10)
	if err != nil {
		return nil, err
	}
	if n, err := strconv.Atoi(port); err != nil {
		return nil, err
	} else if n != 0 {
		ports[0] = n
	}
	frontend := net.JoinHostPort(host, strconv.Itoa(ports[0]))
	service := func(i int) config.Service {
		return config.Service{RPC: config.RPC{GRPCPort: ports[i], MembershipPort: ports[i+4], BindOnIP: host}}
	}
	// What was written survives the death of the process, not that of the machine.
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
				ListenAddress: net.JoinHostPort(host, strconv.Itoa(ports[8])), HandlerPath: "/metrics"}},
		},
		Persistence: config.Persistence{DefaultStore: sqliteplugin.PluginName, VisibilityStore: sqliteplugin.PluginName,
			NumHistoryShards: 1, DataStores: map[string]config.DataStore{sqliteplugin.PluginName: {SQL: store}}},
		ClusterMetadata: &cluster.Config{FailoverVersionIncrement: 10, MasterClusterName: clusterName,
			CurrentClusterName: clusterName, ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend}}},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services: map[string]config.Service{
			"frontend": service(0), "history": service(1), "matching": service(2), "worker": service(3)},
		Archival: config.Archival{
			History:    config.HistoryArchival{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchival{State: config.ArchivalDisabled}},
		PublicClient: config.PublicClient{HostPort: frontend},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History:    config.HistoryArchivalNamespaceDefaults{State: config.ArchivalDisabled},
			Visibility: config.VisibilityArchivalNamespaceDefaults{State: config.ArchivalDisabled}}},
	}, nil
}

// freePorts finds ports that nobody listens on.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
