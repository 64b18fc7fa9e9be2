// Token buckets, one a QP: limits the bytes that a QP puts on the line. Buckets are filled in turn, one a cycle.
// Decides when, never what: the join asks before a packet starts, and tells when it has started. A rate of 0 keeps a bucket
// full, so that nobody waits for a limit that is lifted.
module roce_pacer #(
    parameter int unsigned NumQp = 16
) (
    input logic clk,
    input logic rst,

    // Written with the QP: its rate in 2^-16 bytes a cycle, its burst in bytes; or its rate alone
    input logic        write_i,
    input logic        write_burst_i,    // with write_i: the burst, too
    input logic [ 7:0] write_index_i,
    input logic [23:0] rate_i,
    input logic [23:0] burst_i,
    input logic [23:0] default_burst_i,  // of QPs whose own is 0

    // The QP that asks, one of the table: whether its bucket is not below zero, as it was up to four cycles ago
    input  logic [7:0] index_i,
    output logic       open_o,

    // A packet of that QP starts
    input logic        spend_i,
    input logic [12:0] spend_bytes_i
);

  localparam int unsigned INDEX_W = $clog2(NumQp);
  localparam int unsigned TURN_W = INDEX_W < 2 ? 2 : INDEX_W;  // a bucket's turn takes four cycles
  localparam int unsigned FRACTION_W = 16;
  localparam int unsigned BYTES_W = 26;  // counts up for ever: tokens given and spent are compared modulo 2^26
  localparam int unsigned GIVEN_W = BYTES_W + FRACTION_W;

  typedef logic [INDEX_W-1:0] index_t;
  typedef logic [GIVEN_W-1:0] given_t;
  typedef logic [BYTES_W-1:0] bytes_t;

  // All zero as an FPGA powers up. A reset changes no level.
  logic [23:0] rates[NumQp] = '{default: '0};
  logic [23:0] bursts[NumQp] = '{default: '0};
  logic own_bursts[NumQp] = '{default: '0};  // the burst is not 0
  given_t given[NumQp] = '{default: '0};
  bytes_t spent[NumQp] = '{default: '0};

  always_ff @(posedge clk) begin
    if (write_i && 9'(write_index_i) < 9'(NumQp)) begin
      rates[index_t'(write_index_i)]  <= rate_i;
      if (write_burst_i) begin
        bursts[index_t'(write_index_i)] <= burst_i;
        own_bursts[index_t'(write_index_i)] <= burst_i != '0;
      end
    end
  end

  // Filling: read; add the tokens of one turn, and find the level of a full bucket; choose; write. Where there are two QPs
  // only, each has two turns in four cycles, both from the same level: the second writes what the first one has written.
  logic [TURN_W-1:0] turn_q = '0, turn1_q, turn2_q, turn3_q;
  logic filling1_q = 1'b0, filling2_q = 1'b0, filling3_q = 1'b0;  // from the first turn on
  given_t given1_q, sum2_q, full2_q, sum3_q, full3_q;
  bytes_t spent1_q;
  logic [23:0] rate1_q, burst1_q;
  logic free2_q, over3_q;

  always_ff @(posedge clk) begin
    turn_q  <= turn_q + 1'b1;
    turn1_q <= turn_q;
    turn2_q <= turn1_q;
    turn3_q <= turn2_q;
    given1_q <= given[index_t'(turn_q)];
    spent1_q <= spent[index_t'(turn_q)];
    rate1_q <= rates[index_t'(turn_q)];
    burst1_q <= own_bursts[index_t'(turn_q)] ? bursts[index_t'(turn_q)] : default_burst_i;
    sum2_q <= given1_q + (given_t'(rate1_q) << TURN_W);
    full2_q <= {spent1_q + bytes_t'(burst1_q), FRACTION_W'(0)};
    sum3_q <= sum2_q;
    full3_q <= full2_q;
    free2_q <= rate1_q == '0;
    over3_q <= free2_q || is_negative(full2_q - sum2_q);
    filling1_q <= 1'b1;
    filling2_q <= filling1_q;
    filling3_q <= filling2_q;
    if (filling3_q) given[index_t'(turn3_q)] <= over3_q ? full3_q : sum3_q;
  end

  function automatic logic is_negative(input given_t difference);
    return difference[GIVEN_W-1];
  endfunction

  // Spending: read; add; write.
  logic spend1_q, spend2_q;
  index_t index1_q, index2_q;
  bytes_t spent_old_q, spent_new_q;
  logic [12:0] bytes1_q;

  always_ff @(posedge clk) begin
    spend1_q <= spend_i;
    index1_q <= index_t'(index_i);
    bytes1_q <= spend_bytes_i;
    spent_old_q <= spent[index_t'(index_i)];
    spend2_q <= spend1_q;
    index2_q <= index1_q;
    spent_new_q <= spent_old_q + bytes_t'(bytes1_q);
    if (spend2_q) spent[index2_q] <= spent_new_q;
    if (rst) begin
      spend1_q <= 1'b0;
      spend2_q <= 1'b0;
    end
  end

  // Looking: read; compare.
  bytes_t given_look_q, spent_look_q, level;

  assign level = given_look_q - spent_look_q;

  always_ff @(posedge clk) begin
    given_look_q <= given[index_t'(index_i)][GIVEN_W-1:FRACTION_W];
    spent_look_q <= spent[index_t'(index_i)];
    open_o <= !level[BYTES_W-1];
  end

  logic unused;
  assign unused = ^index_i;

endmodule
