// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * CreateTask, as the API has it. What is null is left out.
 *
 * @param queue The queue, whose rules hold for the task.
 * @param account Order or poll: the registered account at the channel; default: the queue's own.
 * @param amount Order: what it costs, in the smallest unit of currency. A payment of another amount makes the order UNKNOWN, never PAID. Default: any amount is accepted.
 * @param body Body of the request as text: at most 262,144 bytes of UTF-8 after unescaping the JSON; more is 413. Not together with json.
 * @param channelOrderNo Order or poll: the number by which the channel knows the order (out_trade_no). Of an order it is unique within its account; default: order_no. Of a refund the default is the number of the order that bellman knows under merchant_no and order_no in the same account, or else order_no.
 * @param codeLife Order: how long after its creation the payer can use the code or page. If the channel did not know the order when it was closed, a late payment is polled for until then; default: the queue's.
 * @param currency Order: the ISO 4217 code of amount. Required with amount.
 * @param delay Delay before the schedule begins, at most 3650d. 0s means now, whatever the queue's delay. A schedule whose first item is not 0s adds that item before the first attempt.
 * @param due Start of the schedule. A schedule whose first item is not 0s adds that item before the first attempt. Not together with delay. Default: the queue's delay, or now.
 * @param event see the API
 * @param expires Order: how long after its creation the close protocol begins if nobody has paid; default: the queue's.
 * @param expiresAt Order: when the close protocol begins if nobody has paid. Not together with expires.
 * @param headers At most 64, of 8,192 bytes each.
 * @param json Body of the request as a JSON value, sent byte for byte as given: at most 262,144 bytes; more is 413. Sets Content-Type to application/json unless headers has one. Not together with body.
 * @param key The caller's idempotency key, unique within its queue, at most 255 bytes. The same key with other content is 409. Default for an order: merchant_no/order_no; for a poll: merchant_no/order_no/ref_no.
 * @param maxAge Age limit: if the next attempt would be due later after the schedule began, the task ends. An attempt that was due in time is made even if it is late, after downtime or a pause. A manual attempt is always made.
 * @param merchantNo see the API
 * @param method Default POST.
 * @param notification Order or poll: the notification of the merchant about the result.
 * @param orderCreated Order: creation time at the channel. expires, code_life and the age from which the channel allows closing count from it. At most 31 days ago and a minute ahead, by the server's clock. Default: when bellman received the order.
 * @param orderNo see the API
 * @param orderingKey Tasks of a queue with the same ordering key are attempted in the order of creation, each after the one before has ended. At most 255 bytes. Not together with repeat, and not for an order.
 * @param refNo Poll: the number of the refund, transfer or profit sharing at the channel. Default, if the queue requests the refund: the order's number at the channel and -R1; of a duplicate payment -D and a hash of its transaction_id.
 * @param repeat A duration, or cron and an expression: the task starts again after it has ended, until it is cancelled. The first round begins by due and delay, so now if neither is given, also with cron.
 * @param resume State of the task in another system, from which the schedule goes on. Not together with due or delay, and not for an order.
 * @param schedule Schedule: the name of a preset, or a text; default: the queue's.
 * @param success Success rule: the name of a preset, or an expression; default: the queue's.
 * @param supersedes Ends the earlier waiting tasks of its ordering key instead of waiting for them: they are cancelled with reason superseded and cannot be resent.
 * @param timeout Timeout of one attempt; default: the queue's.
 * @param url Destination of the request. Required unless the merchant or the queue has an address.
 * @param vars Order or poll: values for the queue's templates, {vars.NAME}, or for its channel. At most 64, of 4,000 characters each; names of letters, digits and _.
 */
public record CreateTask(
        String queue,
        String account,
        Long amount,
        String body,
        String channelOrderNo,
        String codeLife,
        String currency,
        String delay,
        Instant due,
        String event,
        String expires,
        Instant expiresAt,
        Map<String, String> headers,
        Object json,
        String key,
        String maxAge,
        String merchantNo,
        String method,
        Notify notification,
        Instant orderCreated,
        String orderNo,
        String orderingKey,
        String refNo,
        String repeat,
        Resume resume,
        String schedule,
        String success,
        Boolean supersedes,
        String timeout,
        String url,
        Map<String, String> vars) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "queue", queue,
                "account", account,
                "amount", amount,
                "body", body,
                "channel_order_no", channelOrderNo,
                "code_life", codeLife,
                "currency", currency,
                "delay", delay,
                "due", due,
                "event", event,
                "expires", expires,
                "expires_at", expiresAt,
                "headers", headers,
                "json", json,
                "key", key,
                "max_age", maxAge,
                "merchant_no", merchantNo,
                "method", method,
                "notify", notification,
                "order_created", orderCreated,
                "order_no", orderNo,
                "ordering_key", orderingKey,
                "ref_no", refNo,
                "repeat", repeat,
                "resume", resume,
                "schedule", schedule,
                "success", success,
                "supersedes", supersedes,
                "timeout", timeout,
                "url", url,
                "vars", vars);
    }

    /** Begins one, with what it must have. */
    public static Builder builder(String queue) {
        return new Builder(queue);
    }

    /** Gathers what a CreateTask has. It is of one thread. */
    public static final class Builder {
        private final String queue;
        private String account;
        private Long amount;
        private String body;
        private String channelOrderNo;
        private String codeLife;
        private String currency;
        private String delay;
        private Instant due;
        private String event;
        private String expires;
        private Instant expiresAt;
        private Map<String, String> headers;
        private Object json;
        private String key;
        private String maxAge;
        private String merchantNo;
        private String method;
        private Notify notification;
        private Instant orderCreated;
        private String orderNo;
        private String orderingKey;
        private String refNo;
        private String repeat;
        private Resume resume;
        private String schedule;
        private String success;
        private Boolean supersedes;
        private String timeout;
        private String url;
        private Map<String, String> vars;

        private Builder(String queue) {
            this.queue = queue;
        }

        /** Order or poll: the registered account at the channel; default: the queue's own. */
        public Builder account(String account) {
            this.account = account;
            return this;
        }

        /** Order: what it costs, in the smallest unit of currency. A payment of another amount makes the order UNKNOWN, never PAID. Default: any amount is accepted. */
        public Builder amount(Long amount) {
            this.amount = amount;
            return this;
        }

        /** Body of the request as text: at most 262,144 bytes of UTF-8 after unescaping the JSON; more is 413. Not together with json. */
        public Builder body(String body) {
            this.body = body;
            return this;
        }

        /** Order or poll: the number by which the channel knows the order (out_trade_no). Of an order it is unique within its account; default: order_no. Of a refund the default is the number of the order that bellman knows under merchant_no and order_no in the same account, or else order_no. */
        public Builder channelOrderNo(String channelOrderNo) {
            this.channelOrderNo = channelOrderNo;
            return this;
        }

        /** Order: how long after its creation the payer can use the code or page. If the channel did not know the order when it was closed, a late payment is polled for until then; default: the queue's. */
        public Builder codeLife(String codeLife) {
            this.codeLife = codeLife;
            return this;
        }

        /** Order: the ISO 4217 code of amount. Required with amount. */
        public Builder currency(String currency) {
            this.currency = currency;
            return this;
        }

        /** Delay before the schedule begins, at most 3650d. 0s means now, whatever the queue's delay. A schedule whose first item is not 0s adds that item before the first attempt. */
        public Builder delay(String delay) {
            this.delay = delay;
            return this;
        }

        /** Start of the schedule. A schedule whose first item is not 0s adds that item before the first attempt. Not together with delay. Default: the queue's delay, or now. */
        public Builder due(Instant due) {
            this.due = due;
            return this;
        }

        public Builder event(String event) {
            this.event = event;
            return this;
        }

        /** Order: how long after its creation the close protocol begins if nobody has paid; default: the queue's. */
        public Builder expires(String expires) {
            this.expires = expires;
            return this;
        }

        /** Order: when the close protocol begins if nobody has paid. Not together with expires. */
        public Builder expiresAt(Instant expiresAt) {
            this.expiresAt = expiresAt;
            return this;
        }

        /** At most 64, of 8,192 bytes each. */
        public Builder headers(Map<String, String> headers) {
            this.headers = headers;
            return this;
        }

        /** Body of the request as a JSON value, sent byte for byte as given: at most 262,144 bytes; more is 413. Sets Content-Type to application/json unless headers has one. Not together with body. */
        public Builder json(Object json) {
            this.json = json;
            return this;
        }

        /** The caller's idempotency key, unique within its queue, at most 255 bytes. The same key with other content is 409. Default for an order: merchant_no/order_no; for a poll: merchant_no/order_no/ref_no. */
        public Builder key(String key) {
            this.key = key;
            return this;
        }

        /** Age limit: if the next attempt would be due later after the schedule began, the task ends. An attempt that was due in time is made even if it is late, after downtime or a pause. A manual attempt is always made. */
        public Builder maxAge(String maxAge) {
            this.maxAge = maxAge;
            return this;
        }

        public Builder merchantNo(String merchantNo) {
            this.merchantNo = merchantNo;
            return this;
        }

        /** Default POST. */
        public Builder method(String method) {
            this.method = method;
            return this;
        }

        /** Order or poll: the notification of the merchant about the result. */
        public Builder notification(Notify notification) {
            this.notification = notification;
            return this;
        }

        /** Order: creation time at the channel. expires, code_life and the age from which the channel allows closing count from it. At most 31 days ago and a minute ahead, by the server's clock. Default: when bellman received the order. */
        public Builder orderCreated(Instant orderCreated) {
            this.orderCreated = orderCreated;
            return this;
        }

        public Builder orderNo(String orderNo) {
            this.orderNo = orderNo;
            return this;
        }

        /** Tasks of a queue with the same ordering key are attempted in the order of creation, each after the one before has ended. At most 255 bytes. Not together with repeat, and not for an order. */
        public Builder orderingKey(String orderingKey) {
            this.orderingKey = orderingKey;
            return this;
        }

        /** Poll: the number of the refund, transfer or profit sharing at the channel. Default, if the queue requests the refund: the order's number at the channel and -R1; of a duplicate payment -D and a hash of its transaction_id. */
        public Builder refNo(String refNo) {
            this.refNo = refNo;
            return this;
        }

        /** A duration, or cron and an expression: the task starts again after it has ended, until it is cancelled. The first round begins by due and delay, so now if neither is given, also with cron. */
        public Builder repeat(String repeat) {
            this.repeat = repeat;
            return this;
        }

        /** State of the task in another system, from which the schedule goes on. Not together with due or delay, and not for an order. */
        public Builder resume(Resume resume) {
            this.resume = resume;
            return this;
        }

        /** Schedule: the name of a preset, or a text; default: the queue's. */
        public Builder schedule(String schedule) {
            this.schedule = schedule;
            return this;
        }

        /** Success rule: the name of a preset, or an expression; default: the queue's. */
        public Builder success(String success) {
            this.success = success;
            return this;
        }

        /** Ends the earlier waiting tasks of its ordering key instead of waiting for them: they are cancelled with reason superseded and cannot be resent. */
        public Builder supersedes(Boolean supersedes) {
            this.supersedes = supersedes;
            return this;
        }

        /** Timeout of one attempt; default: the queue's. */
        public Builder timeout(String timeout) {
            this.timeout = timeout;
            return this;
        }

        /** Destination of the request. Required unless the merchant or the queue has an address. */
        public Builder url(String url) {
            this.url = url;
            return this;
        }

        /** Order or poll: values for the queue's templates, {vars.NAME}, or for its channel. At most 64, of 4,000 characters each; names of letters, digits and _. */
        public Builder vars(Map<String, String> vars) {
            this.vars = vars;
            return this;
        }

        public CreateTask build() {
            return new CreateTask(queue, account, amount, body, channelOrderNo, codeLife, currency, delay, due, event, expires, expiresAt, headers, json, key, maxAge, merchantNo, method, notification, orderCreated, orderNo, orderingKey, refNo, repeat, resume, schedule, success, supersedes, timeout, url, vars);
        }
    }
}
