// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * StartReconciliation, as the API has it. What is null is left out.
 *
 * @param date Day of the bill in UTC+8, such as 2026-11-21. The day must be over there.
 * @param queue A queue of kind order whose channel is wechatpay or alipay.
 * @param account A registered account; default: the queue's own and every registered account that its orders name.
 * @param bill trade (the default): the bill of payments and refunds. fund_flow: WeChat Pay's bill of what reached and left the account; amounts that are smaller than the order's agree, because a coupon may have been taken off.
 * @param noRefunds Refunds are not compared.
 * @param reason Written to the audit record.
 */
public record StartReconciliation(
        String date,
        String queue,
        String account,
        BillKind bill,
        Boolean noRefunds,
        String reason) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "date", date,
                "queue", queue,
                "account", account,
                "bill", bill,
                "no_refunds", noRefunds,
                "reason", reason);
    }

    /** Begins one, with what it must have. */
    public static Builder builder(String date, String queue) {
        return new Builder(date, queue);
    }

    /** Gathers what a StartReconciliation has. It is of one thread. */
    public static final class Builder {
        private final String date;
        private final String queue;
        private String account;
        private BillKind bill;
        private Boolean noRefunds;
        private String reason;

        private Builder(String date, String queue) {
            this.date = date;
            this.queue = queue;
        }

        /** A registered account; default: the queue's own and every registered account that its orders name. */
        public Builder account(String account) {
            this.account = account;
            return this;
        }

        /** trade (the default): the bill of payments and refunds. fund_flow: WeChat Pay's bill of what reached and left the account; amounts that are smaller than the order's agree, because a coupon may have been taken off. */
        public Builder bill(BillKind bill) {
            this.bill = bill;
            return this;
        }

        /** Refunds are not compared. */
        public Builder noRefunds(Boolean noRefunds) {
            this.noRefunds = noRefunds;
            return this;
        }

        /** Written to the audit record. */
        public Builder reason(String reason) {
            this.reason = reason;
            return this;
        }

        public StartReconciliation build() {
            return new StartReconciliation(date, queue, account, bill, noRefunds, reason);
        }
    }
}
