// vlan_strip is a queue of the bytes of its frames, without the 13th to the 16th one where a frame has a tag, which goes on beside.
module vlan_strip_formal
  import roce_rx_pkg::*;
(
    input logic clk,
    input logic rst,

    input logic [7:0][7:0] s_axis_tdata,
    input logic [7:0]      s_axis_tkeep,
    input logic            s_axis_tlast,
    input rx_user_t        s_axis_tuser,
    input logic            s_axis_tvalid,
    input logic            s_axis_tready,

    input logic [7:0][7:0] m_axis_tdata,
    input logic [7:0]      m_axis_tkeep,
    input logic            m_axis_tlast,
    input rx_user_t        m_axis_tuser,
    input logic            m_axis_tvalid,
    input logic            m_axis_tready,

    input logic                         is_first,
    input logic                         is_tag,
    input logic                         is_rest,
    input logic                         is_tail,
    input logic [3:0][7:0]              waiting_q,
    input logic [3:0]                   waiting_keep_q,
    input rx_user_t                     user_q,
    input logic [$bits(rx_user_t)+72:0] data_q,
    input logic [$bits(rx_user_t)+72:0] skid_q,
    input logic                         valid_q,
    input logic                         skid_valid_q
);

  localparam int unsigned DEPTH = 20;  // two beats in the register, and half of one

  typedef logic [4:0] count_t;

  typedef struct packed {
    rx_user_t        user;
    logic            last;
    logic [7:0]      keep;
    logic [7:0][7:0] data;
  } beat_t;

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW($bits(beat_t))
  ) u_hold (
      .clk,
      .rst,
      .tdata_i ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .tvalid_i(m_axis_tvalid),
      .tready_i(m_axis_tready)
  );

  function automatic count_t bytes(input logic [7:0] keep);
    bytes = '0;
    for (int unsigned k = 0; k < 8; k++) bytes += count_t'(keep[k]);
  endfunction

  // From the first byte on, without gaps
  function automatic logic is_whole(input logic [7:0] keep, input logic last);
    return keep[0] && (keep & (keep + 1'b1)) == '0 && (last || keep == '1);
  endfunction

  logic take, has_tag;
  logic [1:0] beat_q;  // of the frame that comes in; 2 stands for all from there on
  rx_user_t of_frame_q;

  assign take   = s_axis_tvalid && s_axis_tready;
  assign has_tag = take && beat_q == 2'd1 && s_axis_tuser.tag.has_vlan;

  always_ff @(posedge clk) begin
    if (take) begin
      of_frame_q <= s_axis_tuser;
      beat_q <= s_axis_tlast ? '0 : beat_q + 2'(beat_q != 2'd2);
    end
    if (rst) beat_q <= '0;
  end

  beat_t front, back;
  count_t front_bytes, back_bytes, held_bytes, count;
  logic waits;  // half a beat
  logic [DEPTH-1:0][7:0] held;
  logic [DEPTH-1:0] lasts;

  assign front = beat_t'(data_q);
  assign back = beat_t'(skid_q);
  assign front_bytes = valid_q ? bytes(front.keep) : '0;
  assign back_bytes = skid_valid_q ? bytes(back.keep) : '0;
  assign waits = is_rest || is_tail;
  assign held_bytes = is_rest ? 5'd4 : is_tail ? bytes({4'd0, waiting_keep_q}) : '0;

  always_comb begin
    for (int unsigned k = 0; k < DEPTH; k++) begin
      if (count_t'(k) < front_bytes) begin
        held[k] = front.data[3'(k)];
        lasts[k]  = front.last && count_t'(k) == front_bytes - 1'b1;
      end else if (count_t'(k) < front_bytes + back_bytes) begin
        held[k] = back.data[3'(count_t'(k)-front_bytes)];
        lasts[k]  = back.last && count_t'(k) == front_bytes + back_bytes - 1'b1;
      end else begin
        held[k] = waiting_q[2'(count_t'(k)-front_bytes-back_bytes)];
        lasts[k]  = is_tail && count_t'(k) == front_bytes + back_bytes + held_bytes - 1'b1;
      end
    end
  end

  bytes_rule #(
      .Push (8),
      .Pop  (8),
      .Depth(DEPTH)
  ) u_bytes (
      .clk,
      .rst,
      .push_data_i (s_axis_tdata),
      .push_bytes_i(has_tag ? 5'd4 : take ? bytes(s_axis_tkeep) : '0),
      .push_last_i (s_axis_tlast),
      .pop_data_i  (m_axis_tdata),
      .pop_bytes_i (m_axis_tvalid && m_axis_tready ? bytes(m_axis_tkeep) : '0),
      .pop_last_i  (m_axis_tlast),
      .count_o     (count),
      .held_i      (front_bytes + back_bytes + held_bytes),
      .bytes_i     (held),
      .lasts_i     (lasts)
  );

  // What travels beside: of the frame that goes out, by its turn modulo 4
  logic [1:0] any_frame, in_q, out_q;
  rx_user_t user_of_any_q;
  logic [1:0] at_front, at_back, ends;

  always_ff @(posedge clk) begin
    any_frame <= any_frame;
    if (take && beat_q == '0 && in_q == any_frame) user_of_any_q <= s_axis_tuser;
    in_q <= in_q + 2'(take && s_axis_tlast);
    out_q <= out_q + 2'(m_axis_tvalid && m_axis_tready && m_axis_tlast);
    if (rst) {in_q, out_q} <= '0;
  end

  logic open;  // the youngest beat in the register does not end its frame

  assign open = skid_valid_q ? !back.last : valid_q && !front.last;
  assign at_front = out_q;
  assign at_back = out_q + 2'(front.last);
  assign ends = 2'(valid_q && front.last) + 2'(skid_valid_q && back.last) + 2'(is_tail);

  always_comb begin
    assume (!s_axis_tvalid || is_whole(s_axis_tkeep, s_axis_tlast));
    assume (!s_axis_tvalid || beat_q == '0 || s_axis_tuser == of_frame_q);
    if (s_axis_tvalid) assume (beat_q == 2'd2 || !s_axis_tlast);
    if (!rst) begin
      if (m_axis_tvalid) a_whole : assert (is_whole(m_axis_tkeep, m_axis_tlast));
      if (m_axis_tvalid && out_q == any_frame) a_user : assert (m_axis_tuser == user_of_any_q);
      if (count > 5'd4) a_offers : assert (m_axis_tvalid);
      i_skid : assert (valid_q || !skid_valid_q);
      if (valid_q) i_front : assert (is_whole(front.keep, front.last));
      if (skid_valid_q) i_back : assert (is_whole(back.keep, back.last));
      if (is_first || is_tail) i_first : assert (is_tail ? beat_q == '0 : beat_q == '0 || !of_frame_q.tag.has_vlan);
      if (is_tag) i_tag : assert (beat_q == 2'd1 && of_frame_q.tag.has_vlan);
      if (is_rest) i_rest : assert (beat_q == 2'd2 && of_frame_q.tag.has_vlan);
      if (is_tail) i_tail : assert (is_whole({4'd0, waiting_keep_q}, 1'b1));
      if (waits) i_user : assert (user_q == of_frame_q);
      i_beat : assert (beat_q != 2'd3);
      if (beat_q == '0) i_open : assert (is_tail ? open || !valid_q : !open);
      i_ends : assert (in_q == 2'(out_q + ends));
      if (beat_q != '0 && in_q == any_frame) i_user_in : assert (of_frame_q == user_of_any_q);
      if (is_tail && in_q - 1'b1 == any_frame) i_user_tail : assert (user_q == user_of_any_q);
      if (valid_q && at_front == any_frame) i_user_front : assert (front.user == user_of_any_q);
      if (skid_valid_q && at_back == any_frame) i_user_back : assert (back.user == user_of_any_q);
    end
  end

endmodule

bind vlan_strip vlan_strip_formal u_formal (
    .is_first    (state_q == ADDRESSES),
    .is_tag      (state_q == TAG),
    .is_rest     (state_q == REST),
    .is_tail     (state_q == TAIL),
    .data_q      (u_reg.data_q),
    .skid_q      (u_reg.skid_q),
    .valid_q     (u_reg.valid_q),
    .skid_valid_q(u_reg.skid_valid_q),
    .*
);
