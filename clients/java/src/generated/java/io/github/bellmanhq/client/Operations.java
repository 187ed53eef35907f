// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.util.Map;
import java.util.function.BiFunction;

/** Every operation of the API but the stream of events and the upload of a bill. All throw a {@link BellmanException} where the server refuses. */
public abstract class Operations {
    Operations() {}

    abstract <T> Answer<T> send(String method, String path, Map<String, Object> query, Shape body, BiFunction<Integer, Object, T> read);

    abstract String text(String path);

    abstract String segment(String value);

    /**
     * Whether the process is alive.
     */
    public Health healthz() {
        return send("GET", "/healthz", null, null, (status, json) -> Health.of(json)).body();
    }

    /**
     * Metrics for Prometheus.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public String metrics() {
        return text("/metrics");
    }

    /**
     * This document.
     */
    public String openapi() {
        return text("/openapi.json");
    }

    /**
     * Whether the store answers and tasks are fired; 503, with the reason, if not. A store without room for new tasks is ready, with the status full.
     */
    public Health readyz() {
        return send("GET", "/readyz", null, null, (status, json) -> Health.of(json)).body();
    }

    /**
     * Accounts as PUT takes them back, with their keys sealed: only a server with the same master key can open them.
     *
     * <p>Needs the role admin.
     */
    public AccountPage exportAccounts(ExportAccountsQuery query) {
        return send("GET", "/v1/account-export", query == null ? null : query.asMap(), null, (status, json) -> AccountPage.of(json)).body();
    }

    /** Accounts as PUT takes them back, with their keys sealed: only a server with the same master key can open them. */
    public AccountPage exportAccounts() {
        return exportAccounts(null);
    }

    /**
     * Accounts: by the name for people where one is searched by, by the name in orders otherwise.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public AccountPage listAccounts(ListAccountsQuery query) {
        return send("GET", "/v1/accounts", query == null ? null : query.asMap(), null, (status, json) -> AccountPage.of(json)).body();
    }

    /** Accounts: by the name for people where one is searched by, by the name in orders otherwise. */
    public AccountPage listAccounts() {
        return listAccounts(null);
    }

    /**
     * Register or change up to 1,000 accounts. A wrong one does not stop the others; the same again changes nothing.
     *
     * <p>Needs the role admin.
     */
    public AccountBatched putAccounts(AccountBatch body) {
        return send("POST", "/v1/accounts/batch", null, body, (status, json) -> AccountBatched.of(json)).body();
    }

    /**
     * An account, without its keys.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public Account getAccount(String account) {
        return send("GET", "/v1/accounts/" + segment(account), null, null, (status, json) -> Account.of(json)).body();
    }

    /**
     * Register an account at a payment channel, or change all of it. The channel is made once to check the keys. The answer has no key.
     *
     * <p>Needs the role admin.
     */
    public Answer<Account> putAccount(String account, PutAccount body) {
        return send("PUT", "/v1/accounts/" + segment(account), null, body, (status, json) -> Account.of(json));
    }

    /**
     * Delete an account. Its orders and refunds stay, and their attempts are blocked until it is registered again.
     *
     * <p>Needs the role admin.
     */
    public void deleteAccount(String account, String reason) {
        send("DELETE", "/v1/accounts/" + segment(account), Shape.fields("reason", reason), null, (status, json) -> null);
    }

    /** Delete an account. Its orders and refunds stay, and their attempts are blocked until it is registered again. */
    public void deleteAccount(String account) {
        deleteAccount(account, null);
    }

    /**
     * Give an account new keys. Former ones that decrypt notices or verify answers stay valid for the overlap; requests are signed with the new private key at once.
     *
     * <p>Needs the role admin.
     */
    public Account rotateAccountSecrets(String account, RotateAccount body) {
        return send("POST", "/v1/accounts/" + segment(account) + "/secrets", null, body, (status, json) -> Account.of(json)).body();
    }

    /**
     * Alarms that are raised or ended lately, and the rules by which they are.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public Alarms listAlarms() {
        return send("GET", "/v1/alarms", null, null, (status, json) -> Alarms.of(json)).body();
    }

    /**
     * What needs a person now: endpoints, merchants and queues in trouble, orders without a decision, differences of the bill, nodes, certificates; what affects most first.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public Attentions listAttention() {
        return send("GET", "/v1/attention", null, null, (status, json) -> Attentions.of(json)).body();
    }

    /**
     * Who did what by hand, when and why; newest first.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public AuditPage listAudits(ListAuditsQuery query) {
        return send("GET", "/v1/audit", query == null ? null : query.asMap(), null, (status, json) -> AuditPage.of(json)).body();
    }

    /** Who did what by hand, when and why; newest first. */
    public AuditPage listAudits() {
        return listAudits(null);
    }

    /**
     * Write a consistent copy of the embedded store into a new directory on the server.
     *
     * <p>Needs the role admin.
     */
    public Backup backup(Backup body) {
        return send("POST", "/v1/backup", null, body, (status, json) -> Backup.of(json)).body();
    }

    /**
     * Endpoints: in flight, limit, success rate, breaker, waiting.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public Endpoints listEndpoints() {
        return send("GET", "/v1/endpoints", null, null, (status, json) -> Endpoints.of(json)).body();
    }

    /**
     * Stop attempts to an endpoint, or to all endpoints of a host.
     *
     * <p>Needs the role operate or admin.
     */
    public Paused pauseEndpoint(String host, Because body) {
        return send("POST", "/v1/endpoints/" + segment(host) + "/pause", null, body, (status, json) -> Paused.of(json)).body();
    }

    /** Stop attempts to an endpoint, or to all endpoints of a host. */
    public Paused pauseEndpoint(String host) {
        return pauseEndpoint(host, null);
    }

    /**
     * End an endpoint's pause.
     *
     * <p>Needs the role operate or admin.
     */
    public Paused resumeEndpoint(String host, Because body) {
        return send("POST", "/v1/endpoints/" + segment(host) + "/resume", null, body, (status, json) -> Paused.of(json)).body();
    }

    /** End an endpoint's pause. */
    public Paused resumeEndpoint(String host) {
        return resumeEndpoint(host, null);
    }

    /**
     * The newest 200 links, without their addresses.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public Links listLinks(String merchantNo) {
        return send("GET", "/v1/links", Shape.fields("merchant_no", merchantNo), null, (status, json) -> Links.of(json)).body();
    }

    /** The newest 200 links, without their addresses. */
    public Links listLinks() {
        return listLinks(null);
    }

    /**
     * A link that shows a merchant's notices, or those of one order, to whoever has it: read-only, until it expires or is revoked.
     *
     * <p>Needs the role operate or admin.
     */
    public Link makeLink(MakeLink body) {
        return send("POST", "/v1/links", null, body, (status, json) -> Link.of(json)).body();
    }

    /**
     * End a link, at once and at every node.
     *
     * <p>Needs the role operate or admin.
     */
    public Link revokeLink(String id, Because body) {
        return send("POST", "/v1/links/" + segment(id) + "/revoke", null, body, (status, json) -> Link.of(json)).body();
    }

    /** End a link, at once and at every node. */
    public Link revokeLink(String id) {
        return revokeLink(id, null);
    }

    /**
     * Merchants as PUT takes them back, with their secrets sealed: only a server with the same master key can open them.
     *
     * <p>Needs the role admin.
     */
    public MerchantPage exportMerchants(ExportMerchantsQuery query) {
        return send("GET", "/v1/merchant-export", query == null ? null : query.asMap(), null, (status, json) -> MerchantPage.of(json)).body();
    }

    /** Merchants as PUT takes them back, with their secrets sealed: only a server with the same master key can open them. */
    public MerchantPage exportMerchants() {
        return exportMerchants(null);
    }

    /**
     * Merchants: by name where one is searched by, by number otherwise.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public MerchantPage listMerchants(ListMerchantsQuery query) {
        return send("GET", "/v1/merchants", query == null ? null : query.asMap(), null, (status, json) -> MerchantPage.of(json)).body();
    }

    /** Merchants: by name where one is searched by, by number otherwise. */
    public MerchantPage listMerchants() {
        return listMerchants(null);
    }

    /**
     * Register or change up to 1,000 merchants. A wrong one does not stop the others; the same again changes nothing.
     *
     * <p>Needs the role admin.
     */
    public MerchantBatched putMerchants(MerchantBatch body) {
        return send("POST", "/v1/merchants/batch", null, body, (status, json) -> MerchantBatched.of(json)).body();
    }

    /**
     * Seal all secrets of merchants and accounts under the newest master key, so that older ones can be taken out of the configuration.
     *
     * <p>Needs the role admin.
     */
    public MerchantReseal resealMerchants(Because body) {
        return send("POST", "/v1/merchants/reseal", null, body, (status, json) -> MerchantReseal.of(json)).body();
    }

    /** Seal all secrets of merchants and accounts under the newest master key, so that older ones can be taken out of the configuration. */
    public MerchantReseal resealMerchants() {
        return resealMerchants(null);
    }

    /**
     * A merchant, without its secrets.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public Merchant getMerchant(String merchantNo) {
        return send("GET", "/v1/merchants/" + segment(merchantNo), null, null, (status, json) -> Merchant.of(json)).body();
    }

    /**
     * Register a merchant, or change all of it. The answer has no secret.
     *
     * <p>Needs the role admin.
     */
    public Answer<Merchant> putMerchant(String merchantNo, PutMerchant body) {
        return send("PUT", "/v1/merchants/" + segment(merchantNo), null, body, (status, json) -> Merchant.of(json));
    }

    /**
     * End a merchant's registration. Its tasks stay; those without an address of their own fail, attempt by attempt, until it is registered again.
     *
     * <p>Needs the role admin.
     */
    public void deleteMerchant(String merchantNo, String reason) {
        send("DELETE", "/v1/merchants/" + segment(merchantNo), Shape.fields("reason", reason), null, (status, json) -> null);
    }

    /** End a merchant's registration. Its tasks stay; those without an address of their own fail, attempt by attempt, until it is registered again. */
    public void deleteMerchant(String merchantNo) {
        deleteMerchant(merchantNo, null);
    }

    /**
     * Stop attempts of notifications that name a merchant, wherever they go. Their schedules wait.
     *
     * <p>Needs the role operate or admin.
     */
    public Paused pauseMerchant(String merchantNo, Because body) {
        return send("POST", "/v1/merchants/" + segment(merchantNo) + "/pause", null, body, (status, json) -> Paused.of(json)).body();
    }

    /** Stop attempts of notifications that name a merchant, wherever they go. Their schedules wait. */
    public Paused pauseMerchant(String merchantNo) {
        return pauseMerchant(merchantNo, null);
    }

    /**
     * End a merchant's pause.
     *
     * <p>Needs the role operate or admin.
     */
    public Paused resumeMerchant(String merchantNo, Because body) {
        return send("POST", "/v1/merchants/" + segment(merchantNo) + "/resume", null, body, (status, json) -> Paused.of(json)).body();
    }

    /** End a merchant's pause. */
    public Paused resumeMerchant(String merchantNo) {
        return resumeMerchant(merchantNo, null);
    }

    /**
     * Give a merchant a new secret. For the overlap the former one signs, too, if the scheme has room for two signatures.
     *
     * <p>Needs the role admin.
     */
    public Merchant rotateMerchantSecret(String merchantNo, RotateMerchant body) {
        return send("POST", "/v1/merchants/" + segment(merchantNo) + "/secrets", null, body, (status, json) -> Merchant.of(json)).body();
    }

    /**
     * How a merchant's newest tasks went: success rate, backlog, last failures.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public MerchantStats merchantStats(String merchantNo) {
        return send("GET", "/v1/merchants/" + segment(merchantNo) + "/stats", null, null, (status, json) -> MerchantStats.of(json)).body();
    }

    /**
     * Send a merchant a test: one task with the event bellman.test, attempted once, as any other.
     *
     * <p>Needs the role operate or admin.
     */
    public Task testMerchant(String merchantNo, TestMerchant body) {
        return send("POST", "/v1/merchants/" + segment(merchantNo) + "/test", null, body, (status, json) -> Task.of(json)).body();
    }

    /** Send a merchant a test: one task with the event bellman.test, attempted once, as any other. */
    public Task testMerchant(String merchantNo) {
        return testMerchant(merchantNo, null);
    }

    /**
     * Nodes that share the store: their shards and epochs, their last beat, and which one answers.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public Nodes listNodes() {
        return send("GET", "/v1/nodes", null, null, (status, json) -> Nodes.of(json)).body();
    }

    /**
     * The notices of payment channels, the newest first.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public Notices listNotices(ListNoticesQuery query) {
        return send("GET", "/v1/notices", query == null ? null : query.asMap(), null, (status, json) -> Notices.of(json)).body();
    }

    /** The notices of payment channels, the newest first. */
    public Notices listNotices() {
        return listNotices(null);
    }

    /**
     * Orders that fit, newest first, without what belongs to them: notifications, refunds, notices.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public OrderPage listOrders(ListOrdersQuery query) {
        return send("GET", "/v1/orders", query == null ? null : query.asMap(), null, (status, json) -> OrderPage.of(json)).body();
    }

    /** Orders that fit, newest first, without what belongs to them: notifications, refunds, notices. */
    public OrderPage listOrders() {
        return listOrders(null);
    }

    /**
     * Ask the channel about up to 1,000 orders now, decided ones too, and answer how each stands.
     *
     * <p>Needs the role submit, operate, decide or admin.
     */
    public SettledOrders settleOrders(SettleOrders body) {
        return send("POST", "/v1/orders/settle", null, body, (status, json) -> SettledOrders.of(json)).body();
    }

    /**
     * Everything about one order: how it stands, its tasks, and their attempts in time order.
     *
     * <p>Needs the role submit, read, operate, decide or admin.
     */
    public Order getOrder(String merchantNo, String orderNo, String settle) {
        return send("GET", "/v1/orders/" + segment(merchantNo) + "/" + segment(orderNo), Shape.fields("settle", settle), null, (status, json) -> Order.of(json)).body();
    }

    /** Everything about one order: how it stands, its tasks, and their attempts in time order. */
    public Order getOrder(String merchantNo, String orderNo) {
        return getOrder(merchantNo, orderNo, null);
    }

    /**
     * End the watch of an order. Nothing is decided, and nothing is closed at the channel.
     *
     * <p>Needs the role submit, operate or admin.
     */
    public Task cancelOrder(String merchantNo, String orderNo, Because body) {
        return send("POST", "/v1/orders/" + segment(merchantNo) + "/" + segment(orderNo) + "/cancel", null, body, (status, json) -> Task.of(json)).body();
    }

    /** End the watch of an order. Nothing is decided, and nothing is closed at the channel. */
    public Task cancelOrder(String merchantNo, String orderNo) {
        return cancelOrder(merchantNo, orderNo, null);
    }

    /**
     * Decide an order: the answer came another way, such as the channel's own notice. After the decision, a payment is noted as a late one.
     *
     * <p>Needs the role submit or admin.
     */
    public Task completeOrder(String merchantNo, String orderNo, CompleteTask body) {
        return send("POST", "/v1/orders/" + segment(merchantNo) + "/" + segment(orderNo) + "/complete", null, body, (status, json) -> Task.of(json)).body();
    }

    /**
     * Decide an order by hand: a person knows the outcome. It raises the alarm order_decided_by_hand. Otherwise as complete-order.
     *
     * <p>Needs the role decide or admin.
     */
    public Task decideOrder(String merchantNo, String orderNo, DecideOrder body) {
        return send("POST", "/v1/orders/" + segment(merchantNo) + "/" + segment(orderNo) + "/decide", null, body, (status, json) -> Task.of(json)).body();
    }

    /**
     * Verify and apply a notice about an order that another program received.
     *
     * <p>Needs the role submit or admin.
     */
    public HandedIn handInNotice(String merchantNo, String orderNo, HandIn body) {
        return send("POST", "/v1/orders/" + segment(merchantNo) + "/" + segment(orderNo) + "/notice", null, body, (status, json) -> HandedIn.of(json)).body();
    }

    /**
     * Queues: rules, depth, oldest overdue, in flight, rates.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public Queues listQueues() {
        return send("GET", "/v1/queues", null, null, (status, json) -> Queues.of(json)).body();
    }

    /**
     * A task with its request and its log of attempts.
     *
     * <p>Needs the role submit, read, operate, decide or admin. The key's slashes may be escaped (%2F), which is always exact, or not.
     */
    public TaskDetail getTaskByKey(String queue, String key, GetTaskByKeyQuery query) {
        return send("GET", "/v1/queues/" + segment(queue) + "/keys/" + segment(key), query == null ? null : query.asMap(), null, (status, json) -> TaskDetail.of(json)).body();
    }

    /** A task with its request and its log of attempts. */
    public TaskDetail getTaskByKey(String queue, String key) {
        return getTaskByKey(queue, key, null);
    }

    /**
     * End a task; one that had ended before a resend keeps that end. An attempt in flight may still arrive.
     *
     * <p>Needs the role operate or admin; submit may cancel orders. The key's slashes may be escaped (%2F), which is always exact, or not.
     */
    public Task cancelTaskByKey(String queue, String key, Because body) {
        return send("POST", "/v1/queues/" + segment(queue) + "/keys/" + segment(key) + "/cancel", null, body, (status, json) -> Task.of(json)).body();
    }

    /** End a task; one that had ended before a resend keeps that end. An attempt in flight may still arrive. */
    public Task cancelTaskByKey(String queue, String key) {
        return cancelTaskByKey(queue, key, null);
    }

    /**
     * End a task as succeeded: the answer came another way.
     *
     * <p>Needs the role operate or admin; for the task of an order submit or admin. The key's slashes may be escaped (%2F), which is always exact, or not.
     */
    public Task completeTaskByKey(String queue, String key, CompleteTask body) {
        return send("POST", "/v1/queues/" + segment(queue) + "/keys/" + segment(key) + "/complete", null, body, (status, json) -> Task.of(json)).body();
    }

    /** End a task as succeeded: the answer came another way. */
    public Task completeTaskByKey(String queue, String key) {
        return completeTaskByKey(queue, key, null);
    }

    /**
     * Move a task's next attempt: give due or delay.
     *
     * <p>Needs the role operate or admin. The key's slashes may be escaped (%2F), which is always exact, or not.
     */
    public Task rescheduleTaskByKey(String queue, String key, RescheduleTask body) {
        return send("POST", "/v1/queues/" + segment(queue) + "/keys/" + segment(key) + "/reschedule", null, body, (status, json) -> Task.of(json)).body();
    }

    /**
     * One attempt now, from any state.
     *
     * <p>Needs the role operate or admin. The key's slashes may be escaped (%2F), which is always exact, or not.
     */
    public Task resendTaskByKey(String queue, String key, ResendTask body) {
        return send("POST", "/v1/queues/" + segment(queue) + "/keys/" + segment(key) + "/resend", null, body, (status, json) -> Task.of(json)).body();
    }

    /** One attempt now, from any state. */
    public Task resendTaskByKey(String queue, String key) {
        return resendTaskByKey(queue, key, null);
    }

    /**
     * Stop attempts of a queue's tasks.
     *
     * <p>Needs the role operate or admin.
     */
    public Paused pauseQueue(String queue, Because body) {
        return send("POST", "/v1/queues/" + segment(queue) + "/pause", null, body, (status, json) -> Paused.of(json)).body();
    }

    /** Stop attempts of a queue's tasks. */
    public Paused pauseQueue(String queue) {
        return pauseQueue(queue, null);
    }

    /**
     * End a queue's pause.
     *
     * <p>Needs the role operate or admin.
     */
    public Paused resumeQueue(String queue, Because body) {
        return send("POST", "/v1/queues/" + segment(queue) + "/resume", null, body, (status, json) -> Paused.of(json)).body();
    }

    /** End a queue's pause. */
    public Paused resumeQueue(String queue) {
        return resumeQueue(queue, null);
    }

    /**
     * Reconciliations, those of the newest days first, at most 200.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public Reconciliations listReconciliations() {
        return send("GET", "/v1/reconciliations", null, null, (status, json) -> Reconciliations.of(json)).body();
    }

    /**
     * Compare the orders of a queue with the bill of its channel, as a durable job.
     *
     * <p>Needs the role operate or admin.
     */
    public Reconciliation startReconciliation(StartReconciliation body) {
        return send("POST", "/v1/reconciliations", null, body, (status, json) -> Reconciliation.of(json)).body();
    }

    /**
     * A reconciliation and its counts.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public Reconciliation getReconciliation(String id) {
        return send("GET", "/v1/reconciliations/" + segment(id), null, null, (status, json) -> Reconciliation.of(json)).body();
    }

    /**
     * The differences of a reconciliation, by page.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public DifferencePage listDifferences(String id, ListDifferencesQuery query) {
        return send("GET", "/v1/reconciliations/" + segment(id) + "/differences", query == null ? null : query.asMap(), null, (status, json) -> DifferencePage.of(json)).body();
    }

    /** The differences of a reconciliation, by page. */
    public DifferencePage listDifferences(String id) {
        return listDifferences(id, null);
    }

    /**
     * Ask the channel once about each order that differs.
     *
     * <p>Needs the role operate, decide or admin.
     */
    public Reconciliation settleReconciliation(String id, Because body) {
        return send("POST", "/v1/reconciliations/" + segment(id) + "/settle", null, body, (status, json) -> Reconciliation.of(json)).body();
    }

    /** Ask the channel once about each order that differs. */
    public Reconciliation settleReconciliation(String id) {
        return settleReconciliation(id, null);
    }

    /**
     * The newest 50 bulk resends.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public Resends listResends() {
        return send("GET", "/v1/resends", null, null, (status, json) -> Resends.of(json)).body();
    }

    /** What {@link #startResend} answers. */
    public sealed interface StartResendAnswer permits Resend, ResendCount {}

    /**
     * Send many tasks again, as a durable job; or say how many that would be.
     *
     * <p>Needs the role operate or admin.
     */
    public StartResendAnswer startResend(BulkResend body) {
        return send("POST", "/v1/resends", null, body, (status, json) -> status == 200 ? ResendCount.of(json) : Resend.of(json)).body();
    }

    /**
     * A bulk resend and its progress.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public Resend getResend(String id) {
        return send("GET", "/v1/resends/" + segment(id), null, null, (status, json) -> Resend.of(json)).body();
    }

    /**
     * End a bulk resend. What was sent again stays so.
     *
     * <p>Needs the role operate or admin.
     */
    public Resend cancelResend(String id, Because body) {
        return send("POST", "/v1/resends/" + segment(id) + "/cancel", null, body, (status, json) -> Resend.of(json)).body();
    }

    /** End a bulk resend. What was sent again stays so. */
    public Resend cancelResend(String id) {
        return cancelResend(id, null);
    }

    /**
     * Queues and streams of brokers whose messages become tasks: state, counts, what went wrong.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public Sources listSources() {
        return send("GET", "/v1/sources", null, null, (status, json) -> Sources.of(json)).body();
    }

    /**
     * Counts, and percentiles of lateness, of the latest window.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public Stats stats(String window) {
        return send("GET", "/v1/stats", Shape.fields("window", window), null, (status, json) -> Stats.of(json)).body();
    }

    /** Counts, and percentiles of lateness, of the latest window. */
    public Stats stats() {
        return stats(null);
    }

    /**
     * Tasks that fit, newest first.
     *
     * <p>Needs the role read, operate, decide or admin.
     */
    public TaskPage listTasks(ListTasksQuery query) {
        return send("GET", "/v1/tasks", query == null ? null : query.asMap(), null, (status, json) -> TaskPage.of(json)).body();
    }

    /** Tasks that fit, newest first. */
    public TaskPage listTasks() {
        return listTasks(null);
    }

    /**
     * Create a task. It is durable when 201 is answered.
     *
     * <p>Needs the role submit or admin.
     */
    public Answer<Task> createTask(CreateTask body) {
        return send("POST", "/v1/tasks", null, body, (status, json) -> Task.of(json));
    }

    /**
     * Create up to 1,000 tasks. A bad one does not stop the others.
     *
     * <p>Needs the role submit or admin.
     */
    public Batched createTasks(Batch body) {
        return send("POST", "/v1/tasks/batch", null, body, (status, json) -> Batched.of(json)).body();
    }

    /**
     * A task with its request and its log of attempts.
     *
     * <p>Needs the role submit, read, operate, decide or admin.
     */
    public TaskDetail getTask(String id, GetTaskQuery query) {
        return send("GET", "/v1/tasks/" + segment(id), query == null ? null : query.asMap(), null, (status, json) -> TaskDetail.of(json)).body();
    }

    /** A task with its request and its log of attempts. */
    public TaskDetail getTask(String id) {
        return getTask(id, null);
    }

    /**
     * End a task; one that had ended before a resend keeps that end. An attempt in flight may still arrive.
     *
     * <p>Needs the role operate or admin; submit may cancel orders.
     */
    public Task cancelTask(String id, Because body) {
        return send("POST", "/v1/tasks/" + segment(id) + "/cancel", null, body, (status, json) -> Task.of(json)).body();
    }

    /** End a task; one that had ended before a resend keeps that end. An attempt in flight may still arrive. */
    public Task cancelTask(String id) {
        return cancelTask(id, null);
    }

    /**
     * End a task as succeeded: the answer came another way.
     *
     * <p>Needs the role operate or admin; for the task of an order submit or admin.
     */
    public Task completeTask(String id, CompleteTask body) {
        return send("POST", "/v1/tasks/" + segment(id) + "/complete", null, body, (status, json) -> Task.of(json)).body();
    }

    /** End a task as succeeded: the answer came another way. */
    public Task completeTask(String id) {
        return completeTask(id, null);
    }

    /**
     * Move a task's next attempt: give due or delay.
     *
     * <p>Needs the role operate or admin.
     */
    public Task rescheduleTask(String id, RescheduleTask body) {
        return send("POST", "/v1/tasks/" + segment(id) + "/reschedule", null, body, (status, json) -> Task.of(json)).body();
    }

    /**
     * One attempt now, from any state.
     *
     * <p>Needs the role operate or admin.
     */
    public Task resendTask(String id, ResendTask body) {
        return send("POST", "/v1/tasks/" + segment(id) + "/resend", null, body, (status, json) -> Task.of(json)).body();
    }

    /** One attempt now, from any state. */
    public Task resendTask(String id) {
        return resendTask(id, null);
    }
}
