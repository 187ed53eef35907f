// Code generated from clients/openapi.json by clients/java/generate. DO NOT EDIT.
package io.github.bellmanhq.client;

import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * ListOrdersQuery, as the API has it. What is null is left out.
 *
 * @param queue see the API
 * @param merchantNo see the API
 * @param orderState Every order is examined for this and the following fields, so a page may have few orders, or none, and be followed by more.
 * @param channel Channel of the order: wechatpay, alipay, …
 * @param account Name of the registered account that the order has.
 * @param amountMin Smallest amount, in the main unit of any currency, such as 88.88.
 * @param amountMax Largest amount, in the main unit of any currency, such as 88.88.
 * @param createdFrom Inclusive.
 * @param createdTo Exclusive.
 * @param limit see the API
 * @param cursor The next_cursor of a page of the same filter; default: the newest.
 */
public record ListOrdersQuery(
        String queue,
        String merchantNo,
        OrderState orderState,
        String channel,
        String account,
        String amountMin,
        String amountMax,
        Instant createdFrom,
        Instant createdTo,
        Integer limit,
        String cursor) implements Shape {
    @Override
    public Map<String, Object> asMap() {
        return Shape.fields(
                "queue", queue,
                "merchant_no", merchantNo,
                "order_state", orderState,
                "channel", channel,
                "account", account,
                "amount_min", amountMin,
                "amount_max", amountMax,
                "created_from", createdFrom,
                "created_to", createdTo,
                "limit", limit,
                "cursor", cursor);
    }

    /** Begins one, with what it must have. */
    public static Builder builder() {
        return new Builder();
    }

    /** Gathers what a ListOrdersQuery has. It is of one thread. */
    public static final class Builder {
        private String queue;
        private String merchantNo;
        private OrderState orderState;
        private String channel;
        private String account;
        private String amountMin;
        private String amountMax;
        private Instant createdFrom;
        private Instant createdTo;
        private Integer limit;
        private String cursor;

        private Builder() {
        }

        public Builder queue(String queue) {
            this.queue = queue;
            return this;
        }

        public Builder merchantNo(String merchantNo) {
            this.merchantNo = merchantNo;
            return this;
        }

        /** Every order is examined for this and the following fields, so a page may have few orders, or none, and be followed by more. */
        public Builder orderState(OrderState orderState) {
            this.orderState = orderState;
            return this;
        }

        /** Channel of the order: wechatpay, alipay, … */
        public Builder channel(String channel) {
            this.channel = channel;
            return this;
        }

        /** Name of the registered account that the order has. */
        public Builder account(String account) {
            this.account = account;
            return this;
        }

        /** Smallest amount, in the main unit of any currency, such as 88.88. */
        public Builder amountMin(String amountMin) {
            this.amountMin = amountMin;
            return this;
        }

        /** Largest amount, in the main unit of any currency, such as 88.88. */
        public Builder amountMax(String amountMax) {
            this.amountMax = amountMax;
            return this;
        }

        /** Inclusive. */
        public Builder createdFrom(Instant createdFrom) {
            this.createdFrom = createdFrom;
            return this;
        }

        /** Exclusive. */
        public Builder createdTo(Instant createdTo) {
            this.createdTo = createdTo;
            return this;
        }

        public Builder limit(Integer limit) {
            this.limit = limit;
            return this;
        }

        /** The next_cursor of a page of the same filter; default: the newest. */
        public Builder cursor(String cursor) {
            this.cursor = cursor;
            return this;
        }

        public ListOrdersQuery build() {
            return new ListOrdersQuery(queue, merchantNo, orderState, channel, account, amountMin, amountMax, createdFrom, createdTo, limit, cursor);
        }
    }
}
