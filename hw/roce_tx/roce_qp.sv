// The QP table: contexts written at run time, read by index in the same cycle. Keeps the PSN of every QP.
// A write takes ten cycles and is in force when s_axis_qp_tready is high again. Messages that have begun keep what they had.
module roce_qp
  import roce_pkg::*;
#(
    parameter int unsigned NumQp = 16
) (
    input logic clk,
    input logic rst,

    input logic [31:0] local_ip_i,  // stable from the write of a QP on

    // A QP whose PSN is set must be idle. An index outside the table writes nothing.
    input  qp_write_t s_axis_qp_tdata,
    input  logic      s_axis_qp_tvalid,
    output logic      s_axis_qp_tready,

    // Look-ups by the segmenter. In the cycle behind a write of a PSN the PSN is asked for of the index that `index_i` was
    // with the write.
    input  logic     [ 7:0] index_i,
    output context_t        context_o,    // not enabled where there is no such QP
    input  logic     [ 7:0] psn_index_i,
    output logic     [23:0] psn_o,

    // The next PSN of a QP, from the segmenter
    input logic        psn_write_i,
    input logic [ 7:0] psn_write_index_i,
    input logic [23:0] psn_i,

    // Path MTU of any QP
    input  logic [7:0] mtu_index_i,
    output logic [3:0] mtu_log2_o
);

  localparam int unsigned INDEX_W = $clog2(NumQp);

  if (NumQp < 2 || NumQp > 256 || (NumQp & (NumQp - 1)) != 0) begin : gen_check
    $error("%m: NumQp = %0d must be a power of two, 2 to 256", NumQp);
  end

  typedef logic [INDEX_W-1:0] index_t;

  function automatic logic exists(input logic [7:0] index);
    return 9'(index) < 9'(NumQp);
  endfunction

  function automatic logic mtu_exists(input logic [3:0] mtu_log2);
    return mtu_log2 >= MTU_LOG2_MIN && mtu_log2 <= MTU_LOG2_MAX;
  endfunction

  context_t contexts[NumQp];
  logic [3:0] mtus[NumQp];
  logic [23:0] psns[NumQp];
  logic [NumQp-1:0] enabled_q;

  // A write: the header's words are summed, one a cycle, the carry of each added with the next; then the tables are written,
  // the PSN when the segmenter writes none.
  typedef enum logic [1:0] {
    IDLE,
    SUM,      // one word a cycle
    STORE,    // all but the PSN
    STORE_PSN
  } state_e;

  localparam int unsigned WORDS = 8;

  state_e state_q;
  qp_write_t write_q;
  logic [$clog2(WORDS)-1:0] word_q;
  logic [16:0] sum_q;
  logic limited_q, usable_q;
  logic [WORDS-1:0][15:0] words;
  context_t written;

  // The segmenter's write, a cycle later: who reads its PSN before it is in the table has it from here. That is the message
  // that was looked up in the cycle of the write, if any.
  logic moved_q, moved_hit_q;
  index_t moved_index_q;
  logic [23:0] moved_psn_q;

  assign words = {
    16'd0,  // for the last carry
    IPV4_DONT_FRAGMENT | 16'(IP_BYTES),
    write_q.qp.path.dst_ip,
    local_ip_i,
    {write_q.qp.path.ttl, IPV4_PROTOCOL_UDP},
    {IPV4_VERSION_IHL, write_q.qp.path.tos}
  };
  assign written = '{
          enabled: 1'b1,
          service: write_q.qp.service,
          segmentation: write_q.qp.segmentation,
          mtu_log2: write_q.qp.mtu_log2,
          ack_policy: write_q.qp.ack_policy,
          ack_log2: write_q.qp.ack_log2,
          entropy: write_q.qp.entropy,
          limited: limited_q,
          rkey: write_q.qp.rkey,
          checksum: sum_q[15:0],
          path: write_q.qp.path
      };
  assign s_axis_qp_tready = state_q == IDLE;

  always_ff @(posedge clk) begin
    unique case (state_q)
      IDLE: begin
        write_q <= s_axis_qp_tdata;
        if (!s_axis_qp_tvalid) write_q.qp.path <= write_q.qp.path;  // an enable of its own, so that none drives all
        word_q  <= '0;
        sum_q   <= '0;
        if (s_axis_qp_tvalid && exists(s_axis_qp_tdata.index)) state_q <= SUM;
      end
      SUM: begin
        sum_q <= 17'(sum_q[15:0]) + 17'(words[word_q]) + 17'(sum_q[16]);
        word_q <= word_q + 1'b1;
        limited_q <= write_q.qp.rate != '0;
        usable_q <= write_q.qp.enabled && mtu_exists(write_q.qp.mtu_log2);
        if (word_q == '1) state_q <= STORE;
      end
      STORE: state_q <= STORE_PSN;
      STORE_PSN: if (!moved_q || !write_q.set_psn) state_q <= IDLE;
    endcase
    if (state_q == STORE) begin
      contexts[index_t'(write_q.index)] <= written;
      mtus[index_t'(write_q.index)] <= write_q.qp.mtu_log2;
      enabled_q[index_t'(write_q.index)] <= usable_q;
    end
    if (rst) begin
      state_q   <= IDLE;
      enabled_q <= '0;
    end
  end

  always_ff @(posedge clk) begin
    moved_q <= psn_write_i;
    moved_hit_q <= psn_write_i && index_t'(psn_write_index_i) == index_t'(index_i);
    moved_index_q <= index_t'(psn_write_index_i);
    moved_psn_q <= psn_i;
    if (moved_q) psns[moved_index_q] <= moved_psn_q;
    else if (state_q == STORE_PSN && write_q.set_psn) psns[index_t'(write_q.index)] <= write_q.qp.psn;
    if (rst) moved_q <= 1'b0;
  end

  always_comb begin
    context_o = contexts[index_t'(index_i)];
    context_o.enabled = enabled_q[index_t'(index_i)] && exists(index_i);
  end

  assign psn_o = moved_hit_q ? moved_psn_q : psns[index_t'(psn_index_i)];
  // The segmenter gives no index outside the table here: its messages have a QP.
  logic unused;
  assign unused = ^{psn_index_i, psn_write_index_i};

  assign mtu_log2_o = exists(mtu_index_i) ? mtus[index_t'(mtu_index_i)] : '0;

endmodule
