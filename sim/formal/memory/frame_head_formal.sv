// frame_head says of every packet how long it was, and what its first bytes were, in the cycle behind its last beat and
// in no other. One of those bytes, any, is followed.
module frame_head_formal #(
    parameter int unsigned Beats = 6,
    parameter int unsigned UserW = 1,

    localparam int unsigned HeadW = 64 * Beats
) (
    input logic clk,
    input logic rst,

    input logic [7:0][7:0]  s_axis_tdata,
    input logic [7:0]       s_axis_tkeep,
    input logic             s_axis_tlast,
    input logic [UserW-1:0] s_axis_tuser,
    input logic             s_axis_tvalid,
    input logic             s_axis_tready,

    input logic             ended_o,
    input logic [HeadW-1:0] head_o,
    input logic [10:0]      length_o,
    input logic [UserW-1:0] user_o,

    input logic [7:0] beat_q
);

  localparam logic [11:0] LONGEST = 12'd2040;  // bytes; longer packets are all alike
  localparam logic [11:0] MANY = 12'd2048;  // bytes before a beat; where there are more, so many are counted

  reset_rule u_reset (.*);

  logic [10:0] any_byte;  // of a packet, a constant, the solver's choice
  logic [11:0] before_q, length, length_q;  // bytes of the packet before this beat; up to its end; so of the one before
  logic [11:0] place;  // of the byte in this beat
  logic [3:0] bytes;
  logic [7:0] byte_q, head_byte;
  logic [UserW-1:0] user_q;
  logic ends, ended_q;

  assign ends   = s_axis_tvalid && s_axis_tlast;
  assign length = before_q + 12'(bytes);
  assign place  = 12'(any_byte) - before_q;

  always_comb begin
    bytes = '0;
    for (int unsigned k = 0; k < 8; k++) bytes += 4'(s_axis_tkeep[k]);
    head_byte = '0;
    for (int unsigned k = 0; k < 8 * Beats; k++) if (any_byte == 11'(k)) head_byte = head_o[HeadW-8*(k+1)+:8];
  end

  always_ff @(posedge clk) begin
    any_byte <= any_byte;
    ended_q  <= ends && !rst;
    if (s_axis_tvalid) begin
      if (place < 12'd8) byte_q <= s_axis_tdata[place[2:0]];
      if (s_axis_tlast) before_q <= '0;
      else if (before_q != MANY) before_q <= length;
      length_q <= length;
      user_q   <= s_axis_tuser;
    end
    if (rst) before_q <= '0;
  end

  always_comb begin
    assume (any_byte < 11'(8 * Beats));
    if (s_axis_tvalid) begin
      assume (s_axis_tkeep[0] && (s_axis_tkeep & (s_axis_tkeep + 1'b1)) == '0);
      assume (s_axis_tlast || s_axis_tkeep == '1);
    end
  end

  always_comb begin
    a_ready : assert (s_axis_tready);
    if (!rst) begin
      a_ended : assert (ended_o == ended_q);
      if (ended_o) begin
        a_length : assert (length_o == (length_q > LONGEST ? '1 : 11'(length_q)));
        a_user : assert (user_o == user_q);
        if (12'(any_byte) < length_q) a_head : assert (head_byte == byte_q);
      end

      i_beat : assert (before_q == (beat_q == '1 && before_q == MANY ? MANY : {1'b0, beat_q, 3'd0}));
      if (12'(any_byte) < before_q) i_head : assert (head_byte == byte_q);
    end
  end

endmodule

bind frame_head frame_head_formal #(
    .Beats(Beats),
    .UserW(UserW)
) u_formal (
    .*
);
