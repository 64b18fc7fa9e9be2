// axis_frame_fifo is a queue of the beats of whole frames: those of a frame that is lost or taken back are not in it. One beat of the
// frames that are kept, any, is followed.
module axis_frame_fifo_formal #(
    parameter int unsigned DataW  = 512,
    parameter int unsigned UserW  = 1,
    parameter int unsigned Depth  = 512,
    parameter int unsigned Frames = 64,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned BeatW = 1 + KeepW + DataW,
    localparam int unsigned PtrW  = $clog2(Depth),
    localparam int unsigned UserPtrW = $clog2(Frames)
) (
    input logic clk,
    input logic rst,

    input logic [DataW-1:0] s_axis_tdata,
    input logic [KeepW-1:0] s_axis_tkeep,
    input logic             s_axis_tlast,
    input logic [UserW-1:0] s_axis_tuser,
    input logic             s_axis_tvalid,
    input logic             drop_i,

    input logic [DataW-1:0] m_axis_tdata,
    input logic [KeepW-1:0] m_axis_tkeep,
    input logic             m_axis_tlast,
    input logic [UserW-1:0] m_axis_tuser,
    input logic             m_axis_tvalid,
    input logic             m_axis_tready,

    input logic lost_o,

    input logic [BeatW-1:0] memory [Depth],
    input logic [   PtrW:0] write_q,
    input logic [   PtrW:0] whole_q,
    input logic [   PtrW:0] read_q,
    input logic             lost_q,
    input logic             full,
    input logic             keeps,

    input logic [UserW-1:0] users [Frames],
    input logic [UserPtrW:0] users_write_q,
    input logic [UserPtrW:0] users_read_q,
    input logic users_full_q
);

  localparam int unsigned NUMBER_W = PtrW + 2;  // Depth and one more beats are inside at most

  typedef logic [NUMBER_W-1:0] number_t;
  typedef logic [PtrW-1:0] place_t;

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW(UserW + BeatW)
  ) u_hold (
      .clk,
      .rst,
      .tdata_i ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .tvalid_i(m_axis_tvalid),
      .tready_i(m_axis_tready)
  );

  // Beats by number: written, of whole frames, popped.
  number_t any_number, written_q, kept_q, popped_q, held, followed;
  logic [BeatW-1:0] beat, item_q;
  logic ends, pop, met_q, has_met, missed_q, missed, pushes;  // missed: a beat of the frame was not written

  assign beat = {s_axis_tlast, s_axis_tkeep, s_axis_tdata};
  assign ends = s_axis_tvalid && s_axis_tlast;
  assign pop = m_axis_tvalid && m_axis_tready;
  assign pushes = s_axis_tvalid && !full;
  assign missed = missed_q || (s_axis_tvalid && !pushes);
  assign held = kept_q - popped_q;
  assign followed = any_number - popped_q;

  // A frame that met as many beats as there is room for, or ends where there are as many frames.
  logic [UserPtrW:0] frames;
  assign has_met = met_q || written_q - popped_q >= number_t'(Depth) || (ends && frames == (UserPtrW + 1)'(Frames));

  logic kept_before_q, ended_q, dropped_q, inside_q;

  always_ff @(posedge clk) begin
    any_number <= any_number;
    if (pushes) begin
      written_q <= written_q + 1'b1;
      if (written_q == any_number) item_q <= beat;
    end
    if (ends) begin
      if (keeps) kept_q <= written_q + 1'b1;
      else written_q <= kept_q;
    end
    if (s_axis_tvalid) begin
      met_q <= !s_axis_tlast && has_met;
      missed_q <= !s_axis_tlast && missed;
    end
    popped_q <= popped_q + number_t'(pop);
    if (pop) inside_q <= !m_axis_tlast;
    kept_before_q <= keeps && !rst;
    ended_q <= ends && !rst;
    dropped_q <= drop_i;
    if (rst) begin
      written_q <= '0;
      kept_q <= '0;
      popped_q <= '0;
      met_q <= 1'b0;
      missed_q <= 1'b0;
      inside_q <= 1'b0;
    end
  end

  // What travels beside the frames
  logic [Frames-1:0][UserW-1:0] user_items;

  always_comb begin
    for (int unsigned k = 0; k < Frames; k++) user_items[k] = users[UserPtrW'(users_read_q+(UserPtrW+1)'(k))];
  end

  queue_rule #(
      .DataW(UserW),
      .Depth(Frames)
  ) u_users (
      .clk,
      .rst,
      .push_data_i(s_axis_tuser),
      .push_i     (keeps),
      .pop_data_i (m_axis_tuser),
      .pop_i      (pop && m_axis_tlast),
      .count_o    (frames),
      .held_i     (users_write_q - users_read_q),
      .items_i    (user_items)
  );

  // Ends of frames inside, and the beat that is followed: in the output register or in memory.
  number_t last_beats, stored;
  place_t at;
  logic [BeatW-1:0] here;
  logic stays, open;

  assign stored = number_t'(m_axis_tvalid);
  assign at = place_t'(read_q[PtrW-1:0] + place_t'(followed - stored));
  assign here = followed == '0 && m_axis_tvalid ? {m_axis_tlast, m_axis_tkeep, m_axis_tdata} : memory[at];
  assign stays = followed < written_q - popped_q;

  always_comb begin
    last_beats = number_t'(m_axis_tvalid && m_axis_tlast);
    open = 1'b1;  // the frame that comes in has no end yet
    for (int unsigned k = 0; k < Depth; k++) begin
      if (memory[place_t'(read_q+(PtrW+1)'(k))][BeatW-1]) begin
        if (number_t'(k) + stored < held) last_beats += 1'b1;
        else if (number_t'(k) + stored < written_q - popped_q) open = 1'b0;
      end
    end
  end

  always_comb begin
    if (!rst) begin
      if (pop) a_whole : assert (held != '0);
      if (pop && followed == '0) a_order : assert ({m_axis_tlast, m_axis_tkeep, m_axis_tdata} == item_q);
      if (ends) a_kept : assert (keeps ? !drop_i && !missed : drop_i || has_met);
      a_lost : assert (lost_o == (ended_q && !dropped_q && !kept_before_q));
      if (inside_q) a_without_gap : assert (m_axis_tvalid);
      a_offers : assert (m_axis_tvalid || held == '0 || kept_before_q);

      i_write : assert (number_t'((PtrW + 1)'(write_q - read_q)) + stored == written_q - popped_q);
      i_kept : assert (number_t'((PtrW + 1)'(whole_q - read_q)) + stored == held);
      i_room : assert (held <= written_q - popped_q && written_q - popped_q <= number_t'(Depth) + stored);
      i_lost : assert (lost_q == missed_q && (!lost_q || met_q));
      i_frames : assert (number_t'(frames) == last_beats);
      i_open : assert (open);
      i_full : assert (users_full_q == (users_write_q - users_read_q == (UserPtrW + 1)'(Frames)));
      if (stays) i_item : assert (here == item_q);
      if (held > stored) i_end : assert (memory[place_t'(whole_q - 1'b1)][BeatW-1]);
      if (m_axis_tvalid && held == stored) i_last : assert (m_axis_tlast);
      i_inside : assert (!inside_q || held != '0);
    end
  end

endmodule

bind axis_frame_fifo axis_frame_fifo_formal #(
    .DataW (DataW),
    .UserW (UserW),
    .Depth (Depth),
    .Frames(Frames)
) u_formal (
    .users(u_users.gen_group[0].memory),
    .users_write_q(u_users.write_q),
    .users_read_q(u_users.read_q),
    .users_full_q(u_users.full_q),
    .*
);
